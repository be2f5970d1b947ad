"""Selection of an algorithm's hyperparameters on a validation part, and its test metrics."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from onlinefa.estimators.base import FitDiverged
from onlinefa.gaussian import NotFinite
from onlinefa.walks.errors import WalkDiverged
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.experiments._posterior_factory import build_posterior
from onlinefa_benchmark.experiments.network.task import (
    PRECISIONS,
    Candidate,
    NetworkTask,
    NetworkTraining,
    Rows,
    TrainedNetworks,
    draw_candidates,
)
from onlinefa_benchmark.measurement import Index, Measurement, Value, diverged, measured
from onlinefa_benchmark.models.gaussian_process import NotPositiveDefinite
from onlinefa_benchmark.models.likelihoods import Likelihood
from onlinefa_benchmark.posteriors.base import Functions, Posterior
from onlinefa_benchmark.randomness import Role

if TYPE_CHECKING:
    from onlinefa_benchmark.cells import Cell
    from onlinefa_benchmark.context import Context, Progress

log = logging.getLogger(__name__)

MetricValues = dict[tuple[str, Index], Value]
"""Values by name and index."""

_STEP = 1  # there is one measurement, at the end
_DIVERGED = (FitDiverged, WalkDiverged, NotFinite, NotPositiveDefinite)


@dataclass(frozen=True, eq=False)
class Study:
    """A table in three parts, and the networks that are trained on two of them.

    Parameters
    ----------
    learned, validation : Rows
        Rows to train on, and rows by which hyperparameters are chosen.
    asked : array
        Inputs of the test part.
    training : NetworkTraining
        How networks are trained.
    random : callable
        Return the seed's generator of a role.
    likelihood : callable
        Return the likelihood, given the noise.
    loss : callable
        Return the loss of predictions for targets, given the noise, by which candidates are chosen.
    measure : callable
        Return the test metrics of predictions, given the noise and additional metrics.
    contracts : mapping
        What each metric's value is: per point or a sum, in which units.
    device : str
        Device of the networks.
    has_noise : bool
        Whether the likelihood has noise; that of classes has none.
    precisions : tuple of float
        Range of the prior's precision.
    progress : Progress or None
        Reports how far training is.
    """

    learned: Rows
    validation: Rows
    asked: Array
    training: NetworkTraining
    random: Callable[[Role], np.random.Generator]
    likelihood: Callable[[float], Likelihood]
    loss: Callable[[Functions, Array, float], float]
    measure: Callable[[Functions, float, Mapping[str, Callable[..., Any]]], MetricValues]
    contracts: Mapping[str, str]
    device: str
    has_noise: bool = True
    precisions: tuple[float, float] = PRECISIONS
    progress: Progress | None = None

    @cached_property
    def candidates(self) -> list[Candidate]:
        """The hyperparameters to try."""
        return draw_candidates(
            self.learned,
            self.validation,
            self.training,
            self.random,
            self.likelihood,
            self.device,
            self.precisions,
            self.progress,
        )

    @cached_property
    def search(self) -> TrainedNetworks:
        """The networks of all candidates, trained without the validation part."""
        return self._train_on(self.learned)

    @cached_property
    def final(self) -> TrainedNetworks:
        """The networks of all candidates, trained on both parts."""
        both = (self.learned, self.validation)
        return self._train_on(
            Rows(np.concatenate([t.X for t in both]), np.concatenate([t.y for t in both]))
        )

    def _train_on(self, table: Rows) -> TrainedNetworks:
        return TrainedNetworks(
            table,
            self.candidates,
            self.training,
            self.random,
            self.likelihood,
            self.device,
            self.progress,
        )


def run_study(cell: Cell, study: Study, context: Context) -> Iterator[Measurement]:
    """Try all candidates, choose the best, and measure it."""
    posterior, K = build_posterior(cell, context), int(cell.axes["K"])
    samples = int(cell.parameters["samples"])

    def task(trainings: TrainedNetworks, number: int, inputs: Array) -> NetworkTask:
        network = trainings.networks.members[number]
        return NetworkTask(network, inputs, K, samples, study.random, trainings, number)

    tasks = [task(study.search, i, study.validation.X) for i in range(len(study.candidates))]
    losses, spent = _search(posterior, tasks, study)
    reason = "none of the candidates could be fitted"
    for best in np.argsort(losses):
        if losses[best] == np.inf:
            break
        try:
            functions, seconds = posterior.timed(task(study.final, int(best), study.asked))
            if not np.isfinite(functions.mean).all():
                raise FitDiverged("predictions are not finite")
        except _DIVERGED as divergence:
            # The candidate did not diverge without the validation part. The next best is tried.
            reason = str(divergence)
            log.warning("candidate %d, with all rows: %s", best, reason)
            continue
        values = study.measure(functions, study.candidates[best].noise, context.metrics)
        yield from _measurements(study, values, functions, int(best), losses[best], spent + seconds)
        return
    for metric in (*study.contracts, *context.metrics):
        yield diverged(_STEP, metric, reason, spent, contract=study.contracts.get(metric, ""))


def _measurements(
    study: Study,
    values: MetricValues,
    functions: Functions,
    best: int,
    loss: float,
    seconds: float,
) -> Iterator[Measurement]:
    """Yield the test metrics, and which candidate was chosen."""
    chosen = study.candidates[best]
    values = values | {
        ("validation_loss", ()): loss,
        ("chosen_share", ()): chosen.share,
        ("chosen_precision", ()): chosen.precision,
    }
    if study.has_noise:
        values["chosen_noise", ()] = chosen.noise
    for (metric, index), value in values.items():
        contract = study.contracts.get(metric, "")
        yield measured(_STEP, metric, value, seconds, index, contract, functions.networks)


def _search(
    posterior: Posterior, tasks: list[NetworkTask], study: Study
) -> tuple[list[float], float]:
    """Return each candidate's loss, infinite if it cannot be fitted, and the seconds of all."""
    posterior.prepare(tasks)
    losses, spent = [], 0.0
    for task in tasks:
        try:
            functions, seconds = posterior.timed(task)
        except _DIVERGED as reason:
            log.warning("candidate %d: %s", task.number, reason)
            losses.append(np.inf)
            continue
        spent += seconds
        loss = study.loss(functions, study.validation.y, task.candidate.noise)
        losses.append(loss if np.isfinite(loss) else np.inf)
        log.info("candidate %d of %d: %.4g", task.number + 1, len(tasks), loss)
    return losses, spent
