"""Fits to Langevin walks over a regression, and their distances from the posterior."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onlinefa.estimators._moments import RunningMoments
from onlinefa.gaussian import LowRankGaussian
from onlinefa.walks import WalkDiverged
from onlinefa.walks.descent import LEAST_GRADIENTS
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.experiments._tracking import (
    Metric,
    StreamDiverged,
    Trial,
    new_estimator,
    scalars,
    track,
)
from onlinefa_benchmark.experiments.linear.distance_steps import FLOOR, LOSSES, entries, losses
from onlinefa_benchmark.experiments.linear.langevin_sources import make_source
from onlinefa_benchmark.experiments.linear.sgd_tracking import random_numbers
from onlinefa_benchmark.measurement import Measurement, Value, measured
from onlinefa_benchmark.models import distances
from onlinefa_benchmark.models.linear_regression import LinearRegression
from onlinefa_benchmark.models.sgd_walk import initial_weights
from onlinefa_benchmark.models.walk_names import parse_walk_name

if TYPE_CHECKING:
    from onlinefa_benchmark.cells import Cell
    from onlinefa_benchmark.context import Context

HALVINGS = "step_halvings"

_MOST_WINDOWS = 5  # windows end at 1, 1/2, ... 1/16 of the budget


def run(cell: Cell, context: Context) -> Iterator[Measurement]:
    """Fit one estimator to each window of a walk over one table, and measure it at its end.

    A window is the second half of all steps so far, without the steps in which the walk adapts.
    """
    inputs, y = context.read_table(str(cell.axes["dataset"]))
    regression = LinearRegression.of_table(inputs, y)
    batch, epochs = cell.parameters["batch"], cell.parameters["epochs"]
    per_epoch = -(-regression.N // batch)
    windows = count_windows(epochs, per_epoch)
    steps = [epochs // 2**k for k in reversed(range(windows))]
    source = make_source(
        parse_walk_name(str(cell.axes["walk"])),
        regression,
        initial_weights(regression.D, random_numbers(cell, "weights")),
        warm_up=epochs * per_epoch // 2**windows,
        batch=batch,
        K=int(cell.axes["K"]),
        random=random_numbers(cell, "data"),
    )
    moments = RunningMoments(regression.D, full=True)

    def stream(epoch: int) -> Iterator[Array]:
        nonlocal moments
        moments = RunningMoments(regression.D, full=True)
        try:
            for rows in source.next_window():
                moments.absorb(rows)
                yield rows
        except WalkDiverged as divergence:
            raise StreamDiverged(str(divergence)) from divergence

    def measure(epoch: int, estimate: LowRankGaussian) -> dict[Metric, Value]:
        corrected = source.correct_mean(estimate)
        values = scalars(
            distances.compare(regression.posterior, corrected, distances.DISTANCES, context.metrics)
        )
        values |= {(HALVINGS, ()): float(source.halvings)}
        if epoch == steps[-1]:
            K = int(cell.axes["K"])
            # The steps are those of the estimate itself: a corrected mean is not one of them.
            values |= scalars(losses(regression.posterior, source.law(), moments, K, estimate))
            values |= entries("", corrected)
        return values

    always = [(name, ()) for name in (*distances.DISTANCES, *context.metrics, HALVINGS)]
    final = [
        *always,
        *((name, ()) for name in (*LOSSES, FLOOR)),
        *entries("", regression.posterior),
    ]
    trial = Trial(
        regression.D,
        steps,
        stream,
        measure,
        lambda epoch: final if epoch == steps[-1] else always,
        init=random_numbers(cell, "init", f"/K~{cell.axes['K']}"),
        sampling=random_numbers(cell, "sampling"),
        unit="epochs",
        restarts=True,
    )
    yield from track(new_estimator(cell, trial, context), trial, context)
    for (metric, index), value in entries("true_", regression.posterior).items():
        yield measured(steps[-1], metric, value, 0.0, index)


def count_windows(epochs: int, steps_per_epoch: int) -> int:
    """Return the number of windows of a walk.

    There are as many windows as possible, up to a limit, if the first one ends after at least one
    epoch and the descent before it has enough steps.
    """
    windows = 1
    while (
        windows < _MOST_WINDOWS
        and epochs // 2**windows >= 1
        and epochs * steps_per_epoch // 2 ** (windows + 1) >= LEAST_GRADIENTS
    ):
        windows += 1
    return windows
