"""Feed a stream of observations to an algorithm, and measure what it has learned on the way."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Literal

import numpy as np

from onlinefa import checkpoints, estimators
from onlinefa.cell import Cell
from onlinefa.estimators.base import FactorEstimator, FitDiverged, orthonormal_factors
from onlinefa.gaussian import Array, LowRankGaussian
from onlinefa.metrics import Value
from onlinefa.progress import Pace
from onlinefa.saving import CannotRestore, restore, save

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
    contract: str = ""
    """What the value is, where its name does not say it all: of a point or a sum, in which units.
    """
    networks: int | None = None
    """How many were drawn for it; zero if its distribution is known in closed form."""

    @classmethod
    def of(
        cls,
        step: int,
        metric: str,
        value: Value,
        seconds: float,
        contract: str = "",
        networks: int | None = None,
    ) -> Measurement:
        if not isinstance(value, str) and not np.isfinite(value):
            value = f"the value is {value}"
        if isinstance(value, str):
            return cls(step, metric, None, "undefined", value, seconds, contract, networks)
        return cls(step, metric, value, "ok", "", seconds, contract, networks)


class StreamDiverged(ArithmeticError):
    """What produces the observations has left the numbers that are of any use."""


@dataclass(frozen=True)
class Trial:
    """What a cell confronts its algorithm with."""

    dimension: int
    steps: Sequence[int]
    stream: Callable[[int], Iterable[Array]]
    """The observations up to a step that it has not given yet, block by block."""
    measure: Callable[[int, LowRankGaussian], Mapping[str, Value]]
    metrics_at: Callable[[int], Sequence[str]]
    """What `measure` gives at a step, so that a fit that diverges says so for all it leaves out."""
    init: np.random.Generator
    sampling: np.random.Generator
    unit: str = "observations"
    """What steps are counted in."""


def track(estimator: FactorEstimator, trial: Trial) -> Iterator[Measurement]:
    """Learn from the trial's observations, and measure at every step what has been learned.

    If the process is told to stop, that is kept; and if an earlier attempt has kept something, its
    observations are drawn again but not learned from again.
    """
    checkpoint = checkpoints.current()
    progress = _Progress()
    if checkpoint:
        progress.resume(checkpoint, estimator)
    yield from progress.measured
    pace = Pace(trial.steps[-1], trial.unit)
    reached = 0
    for position, step in enumerate(trial.steps):
        try:
            for rows in trial.stream(step):
                reached = min(step, reached + len(rows))
                if progress.is_behind():
                    pace.skip(reached)
                    continue
                start = perf_counter()
                estimator.partial_fit(rows)
                progress.seconds += perf_counter() - start
                pace.reach(reached)
                if checkpoint and checkpoint.stop:
                    progress.keep(checkpoint, estimator)
            if position < progress.steps:
                continue
            start = perf_counter()
            estimate = estimator.gaussian()
            # Not what earlier estimates took: they were not needed for this one.
            seconds = progress.seconds + perf_counter() - start
        except (FitDiverged, StreamDiverged) as divergence:
            log.warning("%s", divergence)
            yield from diverged(trial, position, str(divergence), progress.seconds)
            return
        for metric, value in trial.measure(step, estimate).items():
            measurement = Measurement.of(step, metric, value, seconds)
            progress.measured.append(measurement)
            yield measurement
        progress.steps += 1
        reached = step
        pace.reach(reached)


class _Progress:
    """How far a fit has come."""

    def __init__(self) -> None:
        self.blocks = 0
        """Of observations, that were drawn."""
        self.learned = 0
        """Of them, those that the estimator knows already, from an earlier attempt."""
        self.steps = 0
        """At which was measured."""
        self.seconds = 0.0
        """Of learning."""
        self.measured: list[Measurement] = []

    def is_behind(self) -> bool:
        """Whether the next block is one that an earlier attempt has learned from."""
        self.blocks += 1
        return self.blocks <= self.learned

    def keep(self, checkpoint: checkpoints.Checkpoint, estimator: FactorEstimator) -> None:
        """All that a further attempt needs; then there is no more to do in this one."""
        checkpoint.save(
            {
                "estimator": save(estimator),
                "blocks": self.blocks,
                "seconds": self.seconds,
                "steps": self.steps,
                "measured": [vars(measurement) for measurement in self.measured],
            }
        )
        raise checkpoints.Interrupted(f"told to stop after {self.blocks} blocks of observations")

    def resume(self, checkpoint: checkpoints.Checkpoint, estimator: FactorEstimator) -> None:
        kept = checkpoint.load()
        if kept is None:
            return
        try:
            restore(estimator, kept["estimator"])
        except CannotRestore as reason:
            log.warning("%s is discarded: %s", checkpoint.path, reason)
            return
        self.learned, self.steps, self.seconds = kept["blocks"], kept["steps"], kept["seconds"]
        self.measured = [Measurement(**values) for values in kept["measured"]]


def diverged(trial: Trial, position: int, reason: str, seconds: float) -> Iterator[Measurement]:
    """What there is to say of the steps from a position on."""
    for step in trial.steps[position:]:
        for metric in trial.metrics_at(step):
            yield Measurement(step, metric, None, "diverged", reason, seconds)


def initial_factors(trial: Trial, K: int) -> Array:
    """Section 4.3, from the seed's own random numbers: the same for every algorithm."""
    return orthonormal_factors(trial.init.standard_normal((trial.dimension, K)))


def new_estimator(cell: Cell, trial: Trial) -> FactorEstimator:
    """The cell's algorithm, with the initial factors and the seed that all algorithms are given."""
    K = int(cell.axes["K"])
    return estimators.build(
        cell.estimator,
        cell.parameters["settings"],
        n_components=K,
        init_factors=initial_factors(trial, K),
        random_state=int(trial.sampling.integers(2**31)),
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
