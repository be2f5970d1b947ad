"""How far an estimated Gaussian is from the true one, by every measure the benchmark reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from onlinefa.gaussian import Array, LowRankGaussian, NoDensity

_DISTANCES: dict[str, Callable[[LowRankGaussian, LowRankGaussian], float]] = {
    "relative_frobenius": lambda truth, estimate: truth.relative_frobenius(estimate),
    "relative_frobenius_off_diagonal": lambda truth, estimate: truth.relative_frobenius(
        estimate, off_diagonal=True
    ),
    "relative_mean_distance": lambda truth, estimate: truth.relative_mean_distance(estimate),
    "wasserstein2": lambda truth, estimate: truth.wasserstein2(estimate),
    "kl_truth_estimate": lambda truth, estimate: truth.kl(estimate),
    "kl_estimate_truth": lambda truth, estimate: estimate.kl(truth),
    "largest_principal_angle": lambda truth, estimate: _largest_angle(truth, estimate),
}

# What all experiments report.
DISTANCES = tuple(name for name in _DISTANCES if name != "largest_principal_angle")

Value = float | str
"""A number, or why there is none."""


def compare(
    truth: LowRankGaussian, estimate: LowRankGaussian, names: Sequence[str]
) -> dict[str, Value]:
    """The named distances of an estimate from the truth."""
    return {name: _value(_DISTANCES[name], truth, estimate) for name in names}


def held_out_log_likelihood(estimate: LowRankGaussian, rows: Array) -> Value:
    """Mean log density of rows that the estimate was not learned from."""
    return _value(lambda: float(np.mean(estimate.log_prob(rows))))


def _value(measure: Callable[..., float], *of: LowRankGaussian) -> Value:
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            value = measure(*of)
    except (NoDensity, np.linalg.LinAlgError) as error:
        return str(error)
    return value if np.isfinite(value) else f"the value is {value}"


def _largest_angle(truth: LowRankGaussian, estimate: LowRankGaussian) -> float:
    angles = truth.principal_angles(estimate)
    return float(angles[0]) if angles.size else float("nan")
