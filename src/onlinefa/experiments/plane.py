"""A regression with two weights, whose posterior, walk and approximations can be drawn.

A walk is named by its learning rate.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from onlinefa.cell import Cell
from onlinefa.experiments.tracking import Measurement
from onlinefa.experiments.walking import follow, random, start
from onlinefa.models.linear_regression import LinearRegression
from onlinefa.models.sgd_walk import Descent, WalkDiverged

N = 1000
ALPHA, BETA = 0.01, 0.1
INPUT_COVARIANCE = np.array([[1.0, 0.5], [0.5, 1.0]])


def run(cell: Cell, tables: Path) -> Iterator[Measurement]:
    """Follow a walk over a random table, and record where it went."""
    rate, batch = float(cell.axes["walk"]), cell.parameters["batch"]
    descent = Descent(generate(random(cell, "model")), rate, batch, "reshuffled")
    yield from follow(cell, descent)
    yield from _footprints(cell, descent)


def generate(random: np.random.Generator) -> LinearRegression:
    """Inputs with unit variances and covariance 0.5, weights and noise as the model has them."""
    X = random.multivariate_normal(np.zeros(2), INPUT_COVARIANCE, size=N)
    theta = random.normal(size=2)
    y = X @ theta + random.normal(size=N) / np.sqrt(BETA)
    return LinearRegression(X, y, ALPHA, BETA)


def _footprints(cell: Cell, descent: Descent) -> Iterator[Measurement]:
    """The weights after each step since the warm-up: theta[0] and theta[1]."""
    walker, warm_up = start(cell, descent), cell.parameters["warm_up"]
    try:
        walker.observe(warm_up)
        walk = walker.observe(cell.parameters["epochs"] - warm_up)
    except WalkDiverged:
        return  # which every metric has said already
    for step, theta in enumerate(walk, start=1):
        for i, value in enumerate(theta):
            yield Measurement.of(step, f"theta[{i}]", float(value), 0.0)
