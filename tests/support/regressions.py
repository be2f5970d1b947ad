"""Random tables for linear regression and for Gaussian processes, for several test files."""

from __future__ import annotations

import numpy as np

from onlinefa_benchmark.models.linear_regression import LinearRegression
from onlinefa_benchmark.models.scaling import append_ones


def table(N, columns, seed=0):
    """Return inputs and targets; the inputs are skewed, so that third moments do not vanish."""
    random = np.random.default_rng(seed)
    inputs = random.standard_normal((N, columns)) @ random.standard_normal((columns, columns))
    inputs = inputs + 0.3 * inputs**2 + 5
    y = inputs @ random.standard_normal(columns) + random.standard_normal(N) + 2
    return inputs, y


def regression_of(N, columns, seed=0):
    """Return the linear regression of a random table."""
    return LinearRegression.of_table(*table(N, columns, seed))


def relative(actual, expected):
    """Return the Frobenius norm of a difference as a fraction of that of the expected array."""
    return np.linalg.norm(actual - expected) / np.linalg.norm(expected)


def curve_table():
    """Return inputs and targets of a noisy curve, and further inputs."""
    random = np.random.default_rng(0)
    X = append_ones(random.normal(size=(30, 3)))
    y = np.sin(X[:, 0]) + X[:, 1] / 2 + 0.2 * random.normal(size=30)
    return X, y, append_ones(random.normal(size=(7, 3)))
