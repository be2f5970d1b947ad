"""Chapter 5: how well does an algorithm recover a known factor analysis model from its samples?

One pass over a stream of observations, measured at every sample size T. Data are drawn block by
block as they are needed, so that an online fit never holds more than one block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np

from onlinefa import metrics
from onlinefa.cell import Cell
from onlinefa.experiments.tracking import (
    Measurement,
    Trial,
    import_and_compile,
    new_estimator,
    track,
)
from onlinefa.gaussian import Array, LowRankGaussian
from onlinefa.models.factor_model import generate, generate_with_eigenvalues
from onlinefa.randomness import Role, generator

BLOCK = 1000
HELD_OUT = 1000

METRICS = (
    *metrics.DISTANCES,
    "largest_principal_angle",
    "held_out_log_likelihood",
    "wasserstein2_per_dimension",
)

CHOICE = ("components", "components_off", "components_right")

_GENERATORS = {"algorithm_3": generate, "eigenvalues": generate_with_eigenvalues}


def run(cell: Cell, tables: Path) -> Iterator[Measurement]:
    """Fit one algorithm to one stream of observations and measure it at every T."""
    import_and_compile(cell)
    trial = trial_of(cell)
    yield from track(new_estimator(cell, trial), trial)


def trial_of(cell: Cell) -> Trial:
    """A known model, a stream of its samples, and how far from the model an estimate is."""
    truth = in_units(model(cell, "model"), float(cell.axes.get("scale", 1)))
    held_out = truth.sample(HELD_OUT, random_of(cell, "held_out"))
    chooses = cell.experiment == "components"
    return Trial(
        truth.dimension,
        cell.parameters["T"],
        stream_of(cell, lambda _: truth),
        lambda _, estimate: _measure(truth, estimate, held_out) | _choice(chooses, truth, estimate),
        lambda _: (*METRICS, *CHOICE) if chooses else METRICS,
        init=random_of(cell, "init"),
        sampling=random_of(cell, "sampling"),
    )


def stream_of(
    cell: Cell, truth: Callable[[int], LowRankGaussian], change_at: int = 0
) -> Callable[[int], Iterator[Array]]:
    """What gives the observations up to T that have not been given yet, block by block.

    The t-th is drawn from truth(t), which may be another one after `change_at`.
    """
    random, seen = random_of(cell, "data"), 0

    def stream(T: int) -> Iterator[Array]:
        nonlocal seen
        while seen < T:
            end = min(T, seen + BLOCK, change_at if seen < change_at else T)
            rows = truth(seen + 1).sample(end - seen, random)
            seen = end
            yield rows

    return stream


def model(cell: Cell, role: Literal["model", "second_model"]) -> LowRankGaussian:
    """The true model of a cell."""
    return _GENERATORS[cell.parameters["dataset"]](
        int(cell.axes["D"]), int(cell.axes["K"]), cell.parameters["spectrum"], random_of(cell, role)
    )


def in_units(model: LowRankGaussian, scale: float) -> LowRankGaussian:
    """The model of the same observations times a number."""
    return LowRankGaussian(scale * model.mean, scale * model.factors, scale**2 * model.noise)


def _choice(
    chooses: bool, truth: LowRankGaussian, estimate: LowRankGaussian
) -> dict[str, metrics.Value]:
    """How many factors an algorithm has found, and how that compares with the truth."""
    if not chooses:
        return {}
    off = abs(estimate.rank - truth.rank)
    return dict(zip(CHOICE, (float(estimate.rank), float(off), float(off == 0)), strict=True))


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


def random_of(cell: Cell, role: Role) -> np.random.Generator:
    """The generator of a role: the same in all units, and for both kinds of models."""
    dataset = "D~{D}/K~{K}/spectrum~{spectrum}".format(**cell.axes)
    return generator(cell.parameters["root_seed"], "synthetic", dataset, cell.seed, role)
