"""Comparison of drawn weights with the mean and the covariance of the paper."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from conformance.paper import compute_moments
from conformance.walk import LAYERS


@dataclass(frozen=True)
class Estimate:
    """An estimate from draws and its standard error."""

    value: float
    error: float


def compare(draws: np.ndarray, rows: np.ndarray, K: int) -> dict[str, Estimate]:
    """Compare draws with the distribution of the paper.

    Parameters
    ----------
    draws : ndarray of shape (n, D)
        Independent draws of the weights.
    rows : ndarray of shape (T, D)
        The walk.
    K : int
        Number of deviations of SWAG.

    Returns
    -------
    estimates : dict of str to Estimate
        ``mean``: root mean square of the errors of the mean, each over the standard deviation of
        the weight in the walk. ``trace``: the trace of the covariance over the paper's.
        ``between``: the coefficient of the paper's covariance between the layers in that of the
        draws, <C, P> / <P, P>.
    """
    mean, covariance = compute_moments(rows, K)
    first = LAYERS[0]
    between = covariance[:first, first:]
    deviations = draws - draws.mean(axis=0, dtype=np.float64)
    products = (deviations[:, :first] @ between) * deviations[:, first:]
    return {
        "mean": _compare_means((draws - mean) / np.std(rows, axis=0, dtype=np.float64)),
        "trace": _average((deviations**2).sum(axis=1) / np.trace(covariance)),
        "between": _average(products.sum(axis=1) / np.sum(between**2)),
    }


def _average(values: np.ndarray) -> Estimate:
    """Average products of deviations; one degree of freedom is spent on the mean of the draws."""
    n = len(values)
    return Estimate(float(values.sum() / (n - 1)), float(values.std(ddof=1) / math.sqrt(n)))


def _compare_means(errors: np.ndarray) -> Estimate:
    """Estimate the root mean square of the expected errors.

    The squared norm of an average of n draws exceeds that of its expectation by tr(S) / n, where S
    is the covariance of a draw. Its variance is 4 e' S e / n + 2 tr(S^2) / n^2 for Gaussian draws.
    The error of the root is how far it moves if the square moves by one standard error.
    """
    n, D = errors.shape
    average, S = errors.mean(axis=0), np.cov(errors, rowvar=False)
    square = max(average @ average - np.trace(S) / n, 0.0) / D
    variance = 4 * average @ S @ average / n + 2 * np.sum(S**2) / n**2
    root = math.sqrt(square)
    return Estimate(root, math.sqrt(square + math.sqrt(variance) / D) - root)
