"""Selection of an algorithm's hyperparameters on one split of a table, and its test metrics."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from onlinefa.estimators.base import FitDiverged
from onlinefa.gaussian import NotFinite
from onlinefa.walks.errors import WalkDiverged
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.experiments._posterior_factory import build_posterior
from onlinefa_benchmark.experiments.network.targets import predict_targets
from onlinefa_benchmark.experiments.network.task import NetworkTask
from onlinefa_benchmark.experiments.network.trained_networks import (
    EvidenceNetworks,
    Rows,
    TrainedNetworks,
    UpdatedNetworks,
)
from onlinefa_benchmark.measurement import Index, Measurement, Value, diverged, measured
from onlinefa_benchmark.models.gaussian_process import NotPositiveDefinite
from onlinefa_benchmark.models.predictive import GaussianMixture
from onlinefa_benchmark.posteriors.base import Posterior
from onlinefa_benchmark.randomness import Role

if TYPE_CHECKING:
    from onlinefa_benchmark.cells import Cell
    from onlinefa_benchmark.context import Context

log = logging.getLogger(__name__)

MetricValues = dict[tuple[str, Index], Value]
"""Values by name and index."""

MakeTask = Callable[[TrainedNetworks, int, Array], NetworkTask]
"""Return the task with the networks of a candidate, and predictions at some inputs."""

_STEP = 1  # there is one measurement, at the end
_DIVERGED = (FitDiverged, WalkDiverged, NotFinite, NotPositiveDefinite)


@dataclass(frozen=True)
class Ranking:
    """The candidates of an algorithm, the best first.

    Parameters
    ----------
    order : list of int
        Numbers of the candidates that can be fitted.
    losses : mapping of int to float
        Loss of each candidate on the validation part; empty if there is none.
    seconds : float
        Time that the algorithm spent on all of them.
    """

    order: list[int]
    losses: Mapping[int, float]
    seconds: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Study(ABC):
    """One split of a table, with the networks that all algorithms share.

    Parameters
    ----------
    asked : array
        Inputs of the test part.
    random : callable
        Return the seed's generator of a role.
    measure : callable
        Return the test metrics of a predictive distribution, given additional metrics.
    contracts : mapping
        What each metric's value is: per point or a sum, in which units.
    """

    asked: Array
    random: Callable[[Role], np.random.Generator]
    measure: Callable[[GaussianMixture, Mapping[str, Callable[..., Any]]], MetricValues]
    contracts: Mapping[str, str]

    @property
    @abstractmethod
    def final(self) -> TrainedNetworks:
        """The networks of all candidates, trained on all rows outside the test part."""

    @abstractmethod
    def rank(self, posterior: Posterior, make_task: MakeTask) -> Ranking:
        """Rank the candidates for an algorithm."""


@dataclass(frozen=True, eq=False, kw_only=True)
class EvidenceStudy(Study):
    """A study in which hyperparameters maximise the evidence, the same for all algorithms.

    Parameters
    ----------
    networks : EvidenceNetworks
        The networks.
    """

    networks: EvidenceNetworks

    @property
    def final(self) -> TrainedNetworks:
        """The networks, trained on all rows outside the test part."""
        return self.networks

    def rank(self, posterior: Posterior, make_task: MakeTask) -> Ranking:
        """Return the only candidate."""
        return Ranking([0], {}, 0.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class ValidationStudy(Study):
    """A study in which each algorithm has the candidate that predicts validation rows best.

    Parameters
    ----------
    search : UpdatedNetworks
        The networks of all candidates, trained without the validation part.
    validation : Rows
        Rows by which a candidate is chosen.
    networks : UpdatedNetworks
        The networks of all candidates, trained on both parts.
    """

    search: UpdatedNetworks
    validation: Rows
    networks: UpdatedNetworks

    @property
    def final(self) -> TrainedNetworks:
        """The networks of all candidates, trained on both parts."""
        return self.networks

    def rank(self, posterior: Posterior, make_task: MakeTask) -> Ranking:
        """Rank the candidates by the likelihood of the validation part."""
        number = len(self.search.numbers)
        tasks = [make_task(self.search, i, self.validation.X) for i in range(number)]
        posterior.prepare(tasks)
        losses, spent = {}, 0.0
        for task in tasks:
            try:
                functions, seconds = posterior.timed(task)
            except _DIVERGED as reason:
                log.warning("candidate %d: %s", task.number, reason)
                continue
            spent += seconds
            predicted = predict_targets(functions, task.network.likelihood)
            loss = -float(np.mean(predicted.log_density(self.validation.y)))
            log.info("candidate %d of %d: %.4g", task.number + 1, len(tasks), loss)
            if np.isfinite(loss):
                losses[task.number] = loss
        return Ranking(sorted(losses, key=losses.__getitem__), losses, spent)


def run_study(cell: Cell, study: Study, context: Context) -> Iterator[Measurement]:
    """Fit the best candidate of an algorithm to all rows outside the test part, and measure it."""
    posterior, K = build_posterior(cell, context), int(cell.axes["K"])
    samples = int(cell.parameters["samples"])

    def make_task(trainings: TrainedNetworks, number: int, inputs: Array) -> NetworkTask:
        network = trainings.networks.members[number]
        return NetworkTask(network, inputs, K, samples, study.random, trainings, number)

    ranking = study.rank(posterior, make_task)
    reason = "none of the candidates could be fitted"
    for number in ranking.order:
        try:
            task = make_task(study.final, number, study.asked)
            functions, seconds = posterior.timed(task)
            if not np.isfinite(functions.mean).all():
                raise FitDiverged("predictions are not finite")
        except _DIVERGED as divergence:
            # The candidate did not diverge without the validation part. The next best is tried.
            reason = str(divergence)
            log.warning("candidate %d, with all rows: %s", number, reason)
            continue
        predicted = predict_targets(functions, task.network.likelihood)
        values = study.measure(predicted, context.metrics)
        values |= _describe_choice(study, ranking, number)
        values |= {(name, ()): value for name, value in functions.diagnostics.items()}
        for (metric, index), value in values.items():
            contract = study.contracts.get(metric, "")
            spent = ranking.seconds + seconds
            yield measured(_STEP, metric, value, spent, index, contract, functions.networks)
        return
    for metric in (*study.contracts, *context.metrics):
        contract = study.contracts.get(metric, "")
        yield diverged(_STEP, metric, reason, ranking.seconds, contract=contract)


def _describe_choice(study: Study, ranking: Ranking, number: int) -> MetricValues:
    """Return the chosen hyperparameters, and how far the networks are from a mode."""
    chosen = study.final.hyperparameters[number]
    values: MetricValues = {
        ("chosen_precision", ()): chosen.precision,
        ("chosen_noise", ()): chosen.noise,
        ("chosen_spread", ()): chosen.spread,
        ("energy_excess", ()): study.final.energy_excesses[number],
        ("log_evidence", ()): study.final.stages[number].log_evidence,
    }
    if number in ranking.losses:
        values["validation_loss", ()] = ranking.losses[number]
    return values
