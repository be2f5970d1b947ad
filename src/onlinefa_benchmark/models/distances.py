"""Distances between an estimated Gaussian and the true one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from onlinefa.gaussian import LowRankGaussian, NoDensity
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.measurement import Value

# A function of the truth and the estimate.
Distance = Callable[[LowRankGaussian, LowRankGaussian], float]


def _largest_angle(truth: LowRankGaussian, estimate: LowRankGaussian) -> float:
    angles = truth.principal_angles(estimate)
    return float(angles[0]) if angles.size else float("nan")


_DISTANCES: dict[str, Distance] = {
    "relative_frobenius": lambda truth, estimate: truth.relative_frobenius(estimate),
    "relative_frobenius_off_diagonal": lambda truth, estimate: truth.relative_frobenius(
        estimate, off_diagonal=True
    ),
    "relative_mean_distance": lambda truth, estimate: truth.relative_mean_distance(estimate),
    "wasserstein2": lambda truth, estimate: truth.wasserstein2(estimate),
    "kl_truth_estimate": lambda truth, estimate: truth.kl(estimate),
    "kl_estimate_truth": lambda truth, estimate: estimate.kl(truth),
    "largest_principal_angle": _largest_angle,
}

# Names of the distances that every experiment with a true Gaussian measures.
DISTANCES = tuple(name for name in _DISTANCES if name != "largest_principal_angle")


def compare(
    truth: LowRankGaussian,
    estimate: LowRankGaussian,
    names: Sequence[str],
    additional: Mapping[str, Distance] | None = None,
) -> dict[str, Value]:
    """Compute distances of an estimate from the truth.

    Parameters
    ----------
    truth, estimate : LowRankGaussian
        The Gaussians that are compared.
    names : sequence of str
        Names of distances.
    additional : mapping of str to callable, optional
        Further distances: functions of the truth and the estimate.

    Returns
    -------
    dict of str to float or str
        The value of each distance, or the reason why it has none.
    """
    measures = {name: _DISTANCES[name] for name in names} | dict(additional or {})
    return {name: _evaluate(measure, truth, estimate) for name, measure in measures.items()}


def held_out_log_likelihood(estimate: LowRankGaussian, rows: Array) -> Value:
    """Return the mean log density of rows to which the estimate was not fitted."""
    return _evaluate(lambda: float(np.mean(estimate.log_prob(rows))))


def _evaluate(measure: Callable[..., float], *arguments: LowRankGaussian) -> Value:
    """Return the value of a measure, or the reason why it has none."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            value = measure(*arguments)
    except (NoDensity, np.linalg.LinAlgError) as error:
        return str(error)
    return value if np.isfinite(value) else f"the value is {value}"
