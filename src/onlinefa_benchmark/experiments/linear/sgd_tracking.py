"""Fits to the walk of SGD over a regression, and their distances from the posterior."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from onlinefa.estimators._moments import RunningMoments
from onlinefa.gaussian import LowRankGaussian
from onlinefa.walks.errors import WalkDiverged
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
from onlinefa_benchmark.measurement import Measurement, Value, measured
from onlinefa_benchmark.models import distances
from onlinefa_benchmark.models.sgd_walk import (
    NoStationaryLaw,
    SGDSettings,
    Walker,
    initial_weights,
    stationary_law,
)
from onlinefa_benchmark.randomness import Role, generator

if TYPE_CHECKING:
    from onlinefa_benchmark.cells import Cell
    from onlinefa_benchmark.context import Context

# A batch algorithm computes its estimate anew at every measurement. It is therefore measured ten
# times less often.
_BATCH_EVERY = 10


def track_walk(cell: Cell, sgd: SGDSettings, context: Context) -> Iterator[Measurement]:
    """Fit one estimator to one walk, and measure it every few epochs.

    After the last epoch the distance is divided into steps (`LOSSES`), and the entries of the
    estimated and the true mean and covariance are recorded.
    """
    regression, parameters = sgd.regression, cell.parameters
    walker = start_walk(cell, sgd)
    moments = RunningMoments(regression.D, full=True)
    steps = _epochs(parameters["warm_up"], parameters["every"], parameters["epochs"])
    if not context.algorithm.online:
        steps = steps[-1::-_BATCH_EVERY][::-1]

    def stream(epoch: int) -> Iterator[Array]:
        try:
            if walker.epoch == 0:
                walker.observe(parameters["warm_up"])
            rows = walker.observe(epoch - walker.epoch)
        except WalkDiverged as divergence:
            raise StreamDiverged(str(divergence)) from divergence
        moments.absorb(rows)
        yield rows

    def measure(epoch: int, estimate: LowRankGaussian) -> dict[Metric, Value]:
        values = scalars(
            distances.compare(regression.posterior, estimate, distances.DISTANCES, context.metrics)
        )
        if epoch == steps[-1]:
            law = _law_of(sgd)
            values |= scalars(
                losses(regression.posterior, law, moments, int(cell.axes["K"]), estimate)
            )
            values |= entries("", estimate)
        return values

    always = [(name, ()) for name in (*distances.DISTANCES, *context.metrics)]
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
    )
    yield from track(new_estimator(cell, trial, context), trial, context)
    for (metric, index), value in entries("true_", regression.posterior).items():
        yield measured(steps[-1], metric, value, 0.0, index)


def _epochs(warm_up: int, every: int, last: int) -> list[int]:
    return list(range(warm_up + every, last + 1, every))


def start_walk(cell: Cell, sgd: SGDSettings) -> Walker:
    """Return the seed's walk before its first step: the same for every algorithm and every K."""
    weights = initial_weights(sgd.regression.D, random_numbers(cell, "weights"))
    return Walker(sgd, weights, random_numbers(cell, "data"))


def _law_of(sgd: SGDSettings) -> LowRankGaussian | str:
    """Return the stationary law of a walk, or why there is none."""
    try:
        return stationary_law(sgd)
    except NoStationaryLaw as reason:
        return str(reason)


def random_numbers(cell: Cell, role: Role, more: str = "") -> np.random.Generator:
    """Return the seed's generator of a role, the same for every algorithm and kind of walk."""
    dataset = f"{cell.axes['dataset']}{more}"
    return generator(cell.parameters["root_seed"], cell.experiment, dataset, cell.seed, role)
