"""Chapter 5: how well does an algorithm recover a known factor analysis model from its samples?

One pass over a stream of observations, measured at every sample size T. Data are drawn block by
block as they are needed, so that an online fit never holds more than one block.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from onlinefa import metrics
from onlinefa.cell import Cell
from onlinefa.experiments.tracking import Measurement, import_and_compile, new_estimator, track
from onlinefa.gaussian import Array, LowRankGaussian
from onlinefa.models.factor_model import generate
from onlinefa.randomness import Role, generator

BLOCK = 1000
HELD_OUT = 1000

METRICS = (
    *metrics.DISTANCES,
    "largest_principal_angle",
    "held_out_log_likelihood",
    "wasserstein2_per_dimension",
)


def run(cell: Cell, tables: Path) -> Iterator[Measurement]:
    """Fit one algorithm to one stream of observations and measure it at every T."""
    truth = generate(
        int(cell.axes["D"]),
        int(cell.axes["K"]),
        cell.parameters["spectrum"],
        _random(cell, "model"),
    )
    held_out = truth.sample(HELD_OUT, _random(cell, "held_out"))
    import_and_compile(cell, held_out[:10, :3])
    observations, seen = _random(cell, "data"), 0

    def stream(T: int) -> Iterator[Array]:
        nonlocal seen
        while seen < T:
            rows = truth.sample(min(BLOCK, T - seen), observations)
            seen += len(rows)
            yield rows

    yield from track(
        new_estimator(cell, truth.dimension, _random(cell, "init"), _random(cell, "sampling")),
        cell.parameters["T"],
        stream,
        lambda _, estimate: _measure(truth, estimate, held_out),
        lambda _: METRICS,
    )


def _measure(
    truth: LowRankGaussian, estimate: LowRankGaussian, held_out: Array
) -> dict[str, metrics.Value]:
    values = metrics.compare(truth, estimate, METRICS[:-2])
    values["held_out_log_likelihood"] = metrics.held_out_log_likelihood(estimate, held_out)
    distance = values["wasserstein2"]
    values["wasserstein2_per_dimension"] = (
        distance if isinstance(distance, str) else distance / truth.dimension
    )
    return values


def _random(cell: Cell, role: Role) -> np.random.Generator:
    dataset = "D~{D}/K~{K}/spectrum~{spectrum}".format(**cell.axes)
    return generator(cell.parameters["root_seed"], "synthetic", dataset, cell.seed, role)
