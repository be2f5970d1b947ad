"""Fits to samples of one factor model and then of another.

Observations up to `change_at` are drawn from one model, later ones from another model of the same
kind. Errors are distances from the current model.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onlinefa.gaussian import LowRankGaussian
from onlinefa_benchmark.experiments._tracking import Trial, new_estimator, scalars, track
from onlinefa_benchmark.experiments.synthetic.computation import (
    random_numbers,
    stream,
    true_model,
)
from onlinefa_benchmark.measurement import Measurement
from onlinefa_benchmark.models import distances

if TYPE_CHECKING:
    from onlinefa_benchmark.cells import Cell
    from onlinefa_benchmark.context import Context


def run(cell: Cell, context: Context) -> Iterator[Measurement]:
    """Fit one estimator to observations of two models, and measure it at every T."""
    prepared = trial(cell, context)
    yield from track(new_estimator(cell, prepared, context), prepared, context)


def trial(cell: Cell, context: Context) -> Trial:
    """Return two known models, a stream of samples of one and then the other, and distances."""
    first, second = true_model(cell, "model"), true_model(cell, "second_model")
    change_at = cell.parameters["change_at"]
    names = [*distances.DISTANCES, *context.metrics, "changed"]

    def truth(step: int) -> LowRankGaussian:
        return first if step <= change_at else second

    return Trial(
        first.dimension,
        cell.parameters["T"],
        stream(cell, truth, change_at),
        lambda step, estimate: scalars(
            distances.compare(truth(step), estimate, distances.DISTANCES, context.metrics)
            | {"changed": float(step > change_at)}
        ),
        lambda _: [(name, ()) for name in names],
        init=random_numbers(cell, "init"),
        sampling=random_numbers(cell, "sampling"),
    )
