"""Feed a stream of observations to an algorithm, and measure what it has learned on the way."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Literal

import numpy as np

from onlinefa import estimators
from onlinefa.cell import Cell
from onlinefa.estimators.base import FactorEstimator, FitDiverged, orthonormal_factors
from onlinefa.gaussian import Array, LowRankGaussian
from onlinefa.metrics import Value

log = logging.getLogger(__name__)

Status = Literal["ok", "diverged", "undefined"]


@dataclass(frozen=True)
class Measurement:
    """One value of one metric at one step of a fit, or the reason why there is none."""

    step: int
    metric: str
    value: float | None
    status: Status
    message: str
    seconds: float
    """Spent on the fit itself up to this step, without drawing data or measuring distances."""

    @classmethod
    def of(cls, step: int, metric: str, value: Value, seconds: float) -> Measurement:
        if isinstance(value, str):
            return cls(step, metric, None, "undefined", value, seconds)
        return cls(step, metric, value, "ok", "", seconds)


class StreamDiverged(ArithmeticError):
    """What produces the observations has left the numbers that are of any use."""


def track(
    estimator: FactorEstimator,
    steps: Sequence[int],
    stream: Callable[[int], Iterable[Array]],
    measure: Callable[[int, LowRankGaussian], Mapping[str, Value]],
    metrics_at: Callable[[int], Sequence[str]],
) -> Iterator[Measurement]:
    """Learn from `stream(step)` up to every step, and measure what has been learned by then.

    `metrics_at` names what `measure` gives at a step, so that a fit that diverges says so for
    everything that it leaves out.
    """
    learning = 0.0
    for position, step in enumerate(steps):
        try:
            for rows in stream(step):
                start = perf_counter()
                estimator.partial_fit(rows)
                learning += perf_counter() - start
            start = perf_counter()
            estimate = estimator.gaussian()
            # Not what earlier estimates took: they were not needed for this one.
            seconds = learning + perf_counter() - start
        except (FitDiverged, StreamDiverged) as divergence:
            log.warning("%s", divergence)
            for later in steps[position:]:
                for metric in metrics_at(later):
                    yield Measurement(later, metric, None, "diverged", str(divergence), learning)
            return
        for metric, value in measure(step, estimate).items():
            yield Measurement.of(step, metric, value, seconds)
        log.info("%d of %d, %.1f s of fitting", step, steps[-1], seconds)


def new_estimator(
    cell: Cell, D: int, init: np.random.Generator, sampling: np.random.Generator
) -> FactorEstimator:
    """The cell's algorithm, with the initial factors and the seed that all algorithms are given."""
    K = int(cell.axes["K"])
    return estimators.build(
        cell.estimator,
        cell.parameters["settings"],
        n_components=K,
        init_factors=orthonormal_factors(init.standard_normal((D, K))),
        random_state=int(sampling.integers(2**31)),
    )


def import_and_compile(cell: Cell) -> None:
    """A small fit that is thrown away: what it loads is not to count as time of the real one."""
    settings = {
        name: value
        for name, value in cell.parameters["settings"].items()
        if not (name == "n_components" and isinstance(value, int))
    }
    rows = np.random.default_rng(0).normal(size=(settings.get("warm_up", 0) + 200, 3))
    with suppress(FitDiverged):
        estimators.build(cell.estimator, settings, n_components=1).fit(rows).gaussian()
