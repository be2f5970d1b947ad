"""Metrics of experiments that compare an estimated Gaussian with the true one."""

from __future__ import annotations

from onlinefa_benchmark.metrics.base import Metric

_LABELS = {
    "relative_frobenius": "relative Frobenius distance of covariances",
    "relative_frobenius_off_diagonal": "relative Frobenius distance, off-diagonal",
    "relative_mean_distance": "relative distance of means",
    "wasserstein2": "2-Wasserstein distance",
    "kl_truth_estimate": "KL(truth || estimate) (nats)",
    "kl_estimate_truth": "KL(estimate || truth) (nats)",
}


def distance_metrics(*main: str) -> tuple[Metric, ...]:
    """Return the metrics of all distances; algorithms are tested by those whose names are given."""
    return tuple(Metric(name, label, is_main=name in main) for name, label in _LABELS.items())
