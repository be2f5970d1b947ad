"""Fits to the walk of SGD over a regression with two weights, and a record of the walk.

A walk is named by its learning rate.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from onlinefa.walks.errors import WalkDiverged
from onlinefa_benchmark.experiments.linear.sgd_tracking import (
    random_numbers,
    start_walk,
    track_walk,
)
from onlinefa_benchmark.measurement import Measurement, measured
from onlinefa_benchmark.models.linear_regression import LinearRegression
from onlinefa_benchmark.models.sgd_walk import SGDSettings

if TYPE_CHECKING:
    from onlinefa_benchmark.cells import Cell
    from onlinefa_benchmark.context import Context

N = 1000
ALPHA, BETA = 0.01, 0.1
INPUT_COVARIANCE = np.array([[1.0, 0.5], [0.5, 1.0]])


def run(cell: Cell, context: Context) -> Iterator[Measurement]:
    """Fit one estimator to a walk over a random table, and record the walk."""
    rate, batch = float(cell.axes["walk"]), cell.parameters["batch"]
    sgd = SGDSettings(generate(random_numbers(cell, "model")), rate, batch, "reshuffled")
    yield from track_walk(cell, sgd, context)
    yield from _record_walk(cell, sgd)


def generate(random: np.random.Generator) -> LinearRegression:
    """Draw a table: inputs with unit variances and covariance 0.5, weights and noise."""
    X = random.multivariate_normal(np.zeros(2), INPUT_COVARIANCE, size=N)
    theta = random.normal(size=2)
    y = X @ theta + random.normal(size=N) / np.sqrt(BETA)
    return LinearRegression(X, y, ALPHA, BETA)


def _record_walk(cell: Cell, sgd: SGDSettings) -> Iterator[Measurement]:
    """Yield the two weights after each step since the warm-up."""
    walker, warm_up = start_walk(cell, sgd), cell.parameters["warm_up"]
    try:
        walker.observe(warm_up)
        walk = walker.observe(cell.parameters["epochs"] - warm_up)
    except WalkDiverged:
        return  # every metric has reported it
    for step, theta in enumerate(walk, start=1):
        for i, value in enumerate(theta):
            yield measured(step, "theta", float(value), 0.0, (i,))
