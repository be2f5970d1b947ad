"""Fits to samples of a known factor model, and their distances from the model.

A fit is one pass over a stream of observations and is measured at every sample size T. Observations
are drawn block by block, so that an online fit never holds more than one block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np

from onlinefa.gaussian import LowRankGaussian
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.experiments._tracking import Trial, new_estimator, scalars, track
from onlinefa_benchmark.measurement import Measurement, Value
from onlinefa_benchmark.models import distances
from onlinefa_benchmark.models.factor_model import generate, generate_with_eigenvalues
from onlinefa_benchmark.randomness import Role, generator

if TYPE_CHECKING:
    from onlinefa_benchmark.cells import Cell
    from onlinefa_benchmark.context import Context

BLOCK = 1000
HELD_OUT = 1000

_DISTANCES = (*distances.DISTANCES, "largest_principal_angle")
METRICS = (*_DISTANCES, "held_out_log_likelihood", "wasserstein2_per_dimension")
COMPONENT_METRICS = ("components", "components_off", "components_right")

_GENERATORS = {"algorithm_3": generate, "eigenvalues": generate_with_eigenvalues}


def run(cell: Cell, context: Context) -> Iterator[Measurement]:
    """Fit one estimator to one stream of observations, and measure it at every T."""
    prepared = trial(cell, context)
    yield from track(new_estimator(cell, prepared, context), prepared, context)


def trial(cell: Cell, context: Context) -> Trial:
    """Return a known model, a stream of its samples, and the distances of an estimate from it."""
    truth = rescale(true_model(cell, "model"), float(cell.axes.get("scale", 1)))
    held_out = truth.sample(HELD_OUT, random_numbers(cell, "held_out"))
    counts_components = cell.experiment == "components"
    names = [*METRICS, *context.metrics, *(COMPONENT_METRICS if counts_components else ())]

    def measure(_: int, estimate: LowRankGaussian) -> dict[str, Value]:
        values = distances.compare(truth, estimate, _DISTANCES, context.metrics)
        values["held_out_log_likelihood"] = distances.held_out_log_likelihood(estimate, held_out)
        distance = values["wasserstein2"]
        values["wasserstein2_per_dimension"] = (
            distance if isinstance(distance, str) else distance / truth.dimension
        )
        return values | (_component_values(truth, estimate) if counts_components else {})

    return Trial(
        truth.dimension,
        cell.parameters["T"],
        stream(cell, lambda _: truth),
        lambda step, estimate: scalars(measure(step, estimate)),
        lambda _: [(name, ()) for name in names],
        init=random_numbers(cell, "init"),
        sampling=random_numbers(cell, "sampling"),
    )


def stream(
    cell: Cell, truth: Callable[[int], LowRankGaussian], change_at: int = 0
) -> Callable[[int], Iterator[Array]]:
    """Return a function that yields the observations up to T that were not given yet.

    The t-th observation is drawn from truth(t), which may be another model after `change_at`.
    """
    random, seen = random_numbers(cell, "data"), 0

    def observations(T: int) -> Iterator[Array]:
        nonlocal seen
        while seen < T:
            end = min(T, seen + BLOCK, change_at if seen < change_at else T)
            rows = truth(seen + 1).sample(end - seen, random)
            seen = end
            yield rows

    return observations


def true_model(cell: Cell, role: Literal["model", "second_model"]) -> LowRankGaussian:
    """Return the true model of a cell."""
    return _GENERATORS[cell.parameters["dataset"]](
        int(cell.axes["D"]),
        int(cell.axes["K"]),
        cell.parameters["spectrum"],
        random_numbers(cell, role),
    )


def rescale(model: LowRankGaussian, scale: float) -> LowRankGaussian:
    """Return the model of the observations multiplied by a number."""
    return LowRankGaussian(scale * model.mean, scale * model.factors, scale**2 * model.noise)


def _component_values(truth: LowRankGaussian, estimate: LowRankGaussian) -> dict[str, Value]:
    """Return the number of factors found, and how far it is from the true number."""
    off = abs(estimate.rank - truth.rank)
    values = (float(estimate.rank), float(off), float(off == 0))
    return dict(zip(COMPONENT_METRICS, values, strict=True))


def random_numbers(cell: Cell, role: Role) -> np.random.Generator:
    """Return the generator of a role: the same for all scales and for both kinds of models."""
    dataset = "D~{D}/K~{K}/spectrum~{spectrum}".format(**cell.axes)
    return generator(cell.parameters["root_seed"], "synthetic", dataset, cell.seed, role)
