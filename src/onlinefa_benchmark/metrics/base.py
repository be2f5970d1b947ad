"""Metrics: their labels, and which of their values are good."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd

Best = Literal["lower", "higher", "one"] | float


@dataclass(frozen=True)
class Metric:
    """A metric of an experiment, which has its own table.

    Parameters
    ----------
    name : str
        Name in the results.
    label : str
        What it is, with units.
    best : {"lower", "higher", "one"} or float, default="lower"
        Which values are good; a number is the value that is best.
    is_main : bool, default=False
        Whether algorithms are tested against one another by it.
    """

    name: str
    label: str
    best: Best = "lower"
    is_main: bool = False

    def loss(self, values: pd.Series) -> pd.Series:
        """Return numbers that are lower the better the values are."""
        import numpy as np

        if self.best == "one":  # half is as bad as twice, and zero cannot be the best
            return np.log(values.where(values > 0)).abs()
        if isinstance(self.best, float):
            return (values - self.best).abs()
        return -values if self.best == "higher" else values

    @property
    def direction(self) -> str:
        """Which values are good, in words."""
        best = self.best
        return f"{best} is better" if best in ("lower", "higher") else f"{best} is best"


Kind = Literal["gaussian", "predictive"]


@dataclass(frozen=True)
class AdditionalMetric:
    """A metric that a file of this folder adds to experiments.

    Parameters
    ----------
    label : str
        What it is, with units.
    measure : callable
        For ``kind="gaussian"``, a function of the true and the estimated `LowRankGaussian`; for
        ``kind="predictive"``, a function of the predictive distribution of held-out targets
        (`models.predictive.GaussianMixture`) and the targets, both standardised. Returns a number.
    kind : {"gaussian", "predictive"}, default="gaussian"
        What it measures, and so which experiments it can be added to.
    best : {"lower", "higher", "one"} or float, default="lower"
        Which values are good.
    """

    label: str
    measure: Callable[..., Any]
    kind: Kind = "gaussian"
    best: Best = "lower"

    def named(self, name: str) -> Metric:
        """Return the label and the best values as a `Metric` with the name of the file."""
        return Metric(name, self.label, self.best)
