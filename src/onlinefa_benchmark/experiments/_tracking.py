"""Fits of an estimator to a stream of observations, with measurements of the estimate at steps."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from onlinefa.estimators._initial_factors import orthonormal_factors
from onlinefa.estimators.base import FactorEstimator, FitDiverged
from onlinefa.gaussian import LowRankGaussian
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.construction import build_estimator
from onlinefa_benchmark.measurement import Index, Measurement, Value, diverged, measured

if TYPE_CHECKING:
    from onlinefa_benchmark.cells import Cell
    from onlinefa_benchmark.context import Checkpoint, Context

log = logging.getLogger(__name__)

Metric = tuple[str, Index]
"""The name of a metric, and the index of an entry of it."""


class StreamDiverged(ArithmeticError):
    """Exception for a source of observations that diverges."""


@dataclass(frozen=True)
class Trial:
    """Observations that a cell passes to its estimator, and measurements of the estimate.

    Parameters
    ----------
    dimension : int
        Number of columns of the observations.
    steps : sequence of int
        Steps at which the estimate is measured.
    stream : callable
        Yield the observations up to a step that were not given yet, block by block.
    measure : callable
        Return the values of all metrics of an estimate at a step.
    metrics_at : callable
        Return the metrics that `measure` gives at a step, for fits that diverge before it.
    init, sampling : numpy.random.Generator
        Random numbers of the initial factors and of the estimator.
    unit : str
        What steps are counted in.
    restarts : bool
        Whether every step has a new estimator, which learns from its own observations only.
    """

    dimension: int
    steps: Sequence[int]
    stream: Callable[[int], Iterable[Array]]
    measure: Callable[[int, LowRankGaussian], Mapping[Metric, Value]]
    metrics_at: Callable[[int], Sequence[Metric]]
    init: np.random.Generator
    sampling: np.random.Generator
    unit: str = "observations"
    restarts: bool = False


def scalars(values: Mapping[str, Value]) -> dict[Metric, Value]:
    """Return metrics that have no index by name and empty index, given metrics by name."""
    return {(name, ()): value for name, value in values.items()}


def track(estimator: FactorEstimator, trial: Trial, context: Context) -> Iterator[Measurement]:
    """Learn from the observations of a trial, and measure the estimate at every step.

    On a stop request, the state is saved. If an earlier attempt has saved its state, the
    observations that it has learned from are drawn again but not learned from again.
    """
    checkpoint, state = context.checkpoint, _State()
    if checkpoint:
        state = _resume(checkpoint, estimator) or state
    yield from state.measurements
    pace = context.progress.start(trial.steps[-1], trial.unit)
    reached = blocks = 0
    for position, step in enumerate(trial.steps):
        try:
            is_new = trial.restarts
            for rows in trial.stream(step):
                reached, blocks = min(step, reached + len(rows)), blocks + 1
                if blocks <= state.blocks:
                    pace.skip(reached)
                    is_new = False
                    continue
                if is_new:
                    estimator, is_new = clone(estimator), False
                    state.seconds = 0.0
                start = perf_counter()
                estimator.partial_fit(rows)
                state.seconds += perf_counter() - start
                state.blocks = blocks
                pace.reach(reached)
                if checkpoint and checkpoint.is_stop_requested:
                    checkpoint.stop(estimator, state.values())
            if position < state.steps:
                continue
            start = perf_counter()
            estimate = estimator.gaussian()
            # Without the time of earlier estimates, on which this one does not depend.
            seconds = state.seconds + perf_counter() - start
        except (FitDiverged, StreamDiverged) as divergence:
            log.warning("%s", divergence)
            yield from diverged_from(trial, position, str(divergence), state.seconds)
            return
        for (metric, index), value in trial.measure(step, estimate).items():
            measurement = measured(step, metric, value, seconds, index)
            state.measurements.append(measurement)
            yield measurement
        state.steps += 1
        reached = step
        pace.reach(reached)


@dataclass
class _State:
    """Progress of a fit.

    Attributes
    ----------
    blocks : int
        Blocks of observations that the estimator has learned from.
    steps : int
        Steps at which the estimate was measured.
    seconds : float
        Time spent on learning.
    measurements : list of Measurement
        What was measured.
    """

    blocks: int = 0
    steps: int = 0
    seconds: float = 0.0
    measurements: list[Measurement] = field(default_factory=list)

    def values(self) -> dict[str, Any]:
        return vars(self) | {"measurements": [vars(each) for each in self.measurements]}


def _resume(checkpoint: Checkpoint, estimator: FactorEstimator) -> _State | None:
    saved = checkpoint.resume(estimator)
    if saved is None:
        return None
    measurements = [Measurement(**values) for values in saved["measurements"]]
    return _State(saved["blocks"], saved["steps"], saved["seconds"], measurements)


def diverged_from(
    trial: Trial, position: int, reason: str, seconds: float
) -> Iterator[Measurement]:
    """Yield the measurements of a fit that has diverged, from the step at a position on."""
    for step in trial.steps[position:]:
        for metric, index in trial.metrics_at(step):
            yield diverged(step, metric, reason, seconds, index)


def initial_factors(trial: Trial, K: int) -> Array:
    """Draw the initial factors of section 4.3, which are the same for every algorithm."""
    return orthonormal_factors(trial.init.standard_normal((trial.dimension, K)))


def new_estimator(cell: Cell, trial: Trial, context: Context) -> FactorEstimator:
    """Build the cell's estimator, with the initial factors and seed that all algorithms share."""
    K = int(cell.axes["K"])
    return build_estimator(
        context.algorithm,
        cell.parameters["settings"],
        n_components=K,
        init_factors=initial_factors(trial, K),
        random_state=int(trial.sampling.integers(2**31)),
    )
