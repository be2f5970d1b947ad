"""How far an estimated Gaussian is from the true one, by every measure the benchmark reports."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from onlinefa.gaussian import Array, LowRankGaussian, NoDensity

Measure = Callable[[LowRankGaussian, LowRankGaussian, Array], float]

_MEASURES: dict[str, Measure] = {
    "relative_frobenius": lambda truth, estimate, _: truth.relative_frobenius(estimate),
    "relative_frobenius_off_diagonal": lambda truth, estimate, _: truth.relative_frobenius(
        estimate, off_diagonal=True
    ),
    "relative_mean_distance": lambda truth, estimate, _: truth.relative_mean_distance(estimate),
    "wasserstein2": lambda truth, estimate, _: truth.wasserstein2(estimate),
    "kl_truth_estimate": lambda truth, estimate, _: truth.kl(estimate),
    "kl_estimate_truth": lambda truth, estimate, _: estimate.kl(truth),
    "held_out_log_likelihood": lambda _, estimate, held_out: float(
        np.mean(estimate.log_prob(held_out))
    ),
    "largest_principal_angle": lambda truth, estimate, _: _largest_angle(truth, estimate),
}

NAMES = (*_MEASURES, "wasserstein2_per_dimension")


def compare(
    truth: LowRankGaussian, estimate: LowRankGaussian, held_out: Array
) -> dict[str, float | str]:
    """Every measure by name: its value, or why it has none."""
    values = {
        name: _value(measure, truth, estimate, held_out) for name, measure in _MEASURES.items()
    }
    distance = values["wasserstein2"]
    values["wasserstein2_per_dimension"] = (
        distance if isinstance(distance, str) else distance / truth.dimension
    )
    return values


def _value(
    measure: Measure, truth: LowRankGaussian, estimate: LowRankGaussian, held_out: Array
) -> float | str:
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            value = measure(truth, estimate, held_out)
    except (NoDensity, np.linalg.LinAlgError) as error:
        return str(error)
    return value if np.isfinite(value) else f"the value is {value}"


def _largest_angle(truth: LowRankGaussian, estimate: LowRankGaussian) -> float:
    angles = truth.principal_angles(estimate)
    return float(angles[0]) if angles.size else float("nan")
