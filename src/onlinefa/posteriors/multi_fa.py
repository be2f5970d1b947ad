"""Factor analysis over several runs, by recursive EM: that extension as it should be."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from onlinefa import estimators
from onlinefa.estimators.base import FactorEstimator
from onlinefa.estimators.recursive_em import RecursiveEM
from onlinefa.posteriors._walked import FromWalks


class MultiFA(FromWalks):
    """A mixture of Gaussians, one for each run's walk."""

    stochastic: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "runs": [Interval(Integral, 1, None, closed="left")]
    }

    def __init__(self, *, runs: int = 5) -> None:
        self.runs = runs

    def estimator(self, **offered: Any) -> FactorEstimator:
        return estimators.construct(RecursiveEM, {}, **offered)
