"""Choose an algorithm's hyperparameters on a validation part, then measure it on test data."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onlinefa.cell import Cell
from onlinefa.estimators.base import FitDiverged
from onlinefa.experiments.asking import posterior_of
from onlinefa.experiments.network_task import (
    PRECISIONS,
    Candidate,
    NetworkTask,
    Table,
    Training,
    Trainings,
    draw_candidates,
)
from onlinefa.experiments.tracking import Measurement
from onlinefa.gaussian import Array, NotFinite
from onlinefa.metrics import Value
from onlinefa.models.gaussian_process import NotPositiveDefinite
from onlinefa.models.likelihoods import Likelihood
from onlinefa.models.sgd_walk import WalkDiverged
from onlinefa.posteriors.base import Functions, Posterior
from onlinefa.randomness import Role

log = logging.getLogger(__name__)

_STEP = 1  # there is one measurement, at the end
_DIVERGED = (FitDiverged, WalkDiverged, NotFinite, NotPositiveDefinite)


@dataclass(frozen=True, eq=False)
class Study:
    """A table in three parts, and the networks that were trained on two of them."""

    learned: Table
    held_back: Table
    """The validation part."""
    asked: Array
    """Inputs of the test."""
    training: Training
    random: Callable[[Role], np.random.Generator]
    likelihood: Callable[[float], Likelihood]
    """Given the noise."""
    loss: Callable[[Functions, Array, float], float]
    """Of predictions for targets, given the noise: what candidates are chosen by."""
    measure: Callable[[Functions, float], Mapping[str, Value]]
    """The test's metrics, given the noise."""
    contracts: Mapping[str, str]
    """What each metric's value is: per point or a sum, in which units."""
    device: str
    has_noise: bool = True
    """Classes have none."""
    precisions: tuple[float, float] = PRECISIONS
    """From where to where the prior's are tried."""

    @cached_property
    def candidates(self) -> list[Candidate]:
        return draw_candidates(
            self.learned, self.held_back, self.training, self.random, self.likelihood, self.device,
            self.precisions,
        )  # fmt: skip

    @cached_property
    def search(self) -> Trainings:
        return self._trained_on(self.learned)

    @cached_property
    def final(self) -> Trainings:
        both = (self.learned, self.held_back)
        return self._trained_on(
            Table(np.concatenate([t.X for t in both]), np.concatenate([t.y for t in both]))
        )

    def _trained_on(self, table: Table) -> Trainings:
        return Trainings(
            table, self.candidates, self.training, self.random, self.likelihood, self.device
        )


def run_study(cell: Cell, study: Study) -> Iterator[Measurement]:
    """Try all candidates, take the best, and measure it."""
    posterior, K = posterior_of(cell), int(cell.axes["K"])
    samples = int(cell.parameters["samples"])

    def task(trainings: Trainings, number: int, inputs: Array) -> NetworkTask:
        network = trainings.networks.members[number]
        return NetworkTask(network, inputs, K, samples, study.random, trainings, number)

    tasks = [task(study.search, i, study.held_back.X) for i in range(len(study.candidates))]
    losses, spent = _search(posterior, tasks, study)
    reason = "none of the candidates could be fitted"
    for best in np.argsort(losses):
        if losses[best] == np.inf:
            break
        try:
            functions, seconds = posterior.timed(task(study.final, int(best), study.asked))
            if not np.isfinite(functions.mean).all():
                raise FitDiverged("what is predicted is no number")
        except _DIVERGED as divergence:
            # It did not on fewer rows. Who meets that takes what was next best.
            reason = str(divergence)
            log.warning("candidate %d, with all rows: %s", best, reason)
            continue
        yield from _measured(study, functions, int(best), losses[best], spent + seconds)
        return
    for metric, contract in study.contracts.items():
        yield Measurement(_STEP, metric, None, "diverged", reason, spent, contract)


def _measured(
    study: Study, functions: Functions, best: int, loss: float, seconds: float
) -> Iterator[Measurement]:
    """The test's metrics, and what was chosen."""
    chosen = study.candidates[best]
    values = dict(study.measure(functions, chosen.noise)) | {
        "validation_loss": loss,
        "chosen_share": chosen.share,
        "chosen_precision": chosen.precision,
    }
    if study.has_noise:
        values["chosen_noise"] = chosen.noise
    for metric, value in values.items():
        contract = study.contracts.get(metric.partition("[")[0], "")
        yield Measurement.of(_STEP, metric, value, seconds, contract, functions.networks)


def _search(
    posterior: Posterior, tasks: list[NetworkTask], study: Study
) -> tuple[list[float], float]:
    """Each candidate's loss, infinite if it cannot be fitted, and the seconds it all took."""
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
        loss = study.loss(functions, study.held_back.y, task.candidate.noise)
        losses.append(loss if np.isfinite(loss) else np.inf)
        log.info("candidate %d of %d: %.4g", task.number + 1, len(tasks), loss)
    return losses, spent
