"""Measurements: what the computation of a cell returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

Status = Literal["ok", "diverged", "undefined"]

Value = float | str
"""A number, or the reason why there is none."""

Index = tuple[int, ...]


@dataclass(frozen=True)
class Measurement:
    """One value of one metric at one step of a fit, or the reason why there is none.

    Parameters
    ----------
    step : int
        Step at which the metric is measured: a sample size, an epoch, or 1 if there is one only.
    metric : str
        Name of the metric.
    value : float or None
        The value; None unless the status is ``ok``.
    status : {"ok", "diverged", "undefined"}
        Whether there is a value.
    message : str
        Why there is no value.
    seconds : float
        Time spent on the fit up to this step, without drawing data or measuring distances.
    i, j : int or None
        Indices of an entry of a vector or matrix, or of a level of a curve.
    contract : str
        Details of the value that are not in the metric's name: mean or sum, and its units.
    networks : int or None
        Number of networks drawn for the value; zero if it is known in closed form.
    """

    step: int
    metric: str
    value: float | None
    status: Status
    message: str
    seconds: float
    i: int | None = None
    j: int | None = None
    contract: str = ""
    networks: int | None = None


def measured(
    step: int,
    metric: str,
    value: Value,
    seconds: float,
    index: Index = (),
    contract: str = "",
    networks: int | None = None,
) -> Measurement:
    """Return the measurement of a value, which is ``undefined`` unless it is a finite number."""
    if not isinstance(value, str) and not np.isfinite(value):
        value = f"the value is {value}"
    i, j = (*index, None, None)[:2]
    if isinstance(value, str):
        return Measurement(
            step, metric, None, "undefined", value, seconds, i, j, contract, networks
        )
    return Measurement(step, metric, float(value), "ok", "", seconds, i, j, contract, networks)


def diverged(
    step: int, metric: str, message: str, seconds: float, index: Index = (), contract: str = ""
) -> Measurement:
    """Return the measurement of a metric that has no value because the fit has diverged."""
    i, j = (*index, None, None)[:2]
    return Measurement(step, metric, None, "diverged", message, seconds, i, j, contract)
