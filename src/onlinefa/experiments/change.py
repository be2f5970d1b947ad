"""How fast does an algorithm follow when the model behind its observations is replaced?

Chapter 5's stream of observations, from one model up to `change_at` and from another one, of the
same kind, from then on. Errors are distances from the model of the moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from onlinefa import metrics
from onlinefa.cell import Cell
from onlinefa.experiments.synthetic import model, random_of, stream_of
from onlinefa.experiments.tracking import (
    Measurement,
    Trial,
    import_and_compile,
    new_estimator,
    track,
)
from onlinefa.gaussian import LowRankGaussian


def run(cell: Cell, tables: Path) -> Iterator[Measurement]:
    """Fit one algorithm to observations of two models, and measure it at every T."""
    import_and_compile(cell)
    trial = trial_of(cell)
    yield from track(new_estimator(cell, trial), trial)


def trial_of(cell: Cell) -> Trial:
    """Two known models, a stream of samples of the one and then the other, and distances."""
    first, second = model(cell, "model"), model(cell, "second_model")
    change_at = cell.parameters["change_at"]

    def truth(step: int) -> LowRankGaussian:
        return first if step <= change_at else second

    return Trial(
        first.dimension,
        cell.parameters["T"],
        stream_of(cell, truth, change_at),
        lambda step, estimate: {
            **metrics.compare(truth(step), estimate, metrics.DISTANCES),
            "changed": float(step > change_at),
        },
        lambda _: (*metrics.DISTANCES, "changed"),
        init=random_of(cell, "init"),
        sampling=random_of(cell, "sampling"),
    )
