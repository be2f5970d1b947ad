"""Measurements of a posterior of deep networks on test images.

A seed determines the validation part, the initial weights, the order of training images and the
networks that are drawn. Datasets with a test part of their own keep it; digits are split by the
seed. The validation part is a tenth of the other images; temperatures and prior precisions are
chosen by it.

All algorithms of a seed share its training runs. The estimators of all cells of a job observe a run
at once; see `deep.training`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.base import clone
from torch import nn

from onlinefa.estimators.base import FactorEstimator, FitDiverged
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.construction import build_estimator
from onlinefa_benchmark.deep.architectures import build
from onlinefa_benchmark.deep.catalogue import ARCHITECTURES
from onlinefa_benchmark.deep.data import Bytes
from onlinefa_benchmark.deep.recipes import Recipe, Schedule, SGDTrajectory
from onlinefa_benchmark.deep.task import DeepTask, name_observer
from onlinefa_benchmark.deep.training import DIVERGENCES, Run, RunResult, TrainingDiverged, train
from onlinefa_benchmark.deep_posteriors._networks import FixedNetworks
from onlinefa_benchmark.deep_posteriors._walks import Walks
from onlinefa_benchmark.deep_posteriors.base import DeepPosterior, Predictor
from onlinefa_benchmark.experiments.images.evaluation import (
    CONTRACTS,
    EvaluationImages,
    MetricValues,
    make_batches,
    measure,
    measure_gallery,
)
from onlinefa_benchmark.experiments.images.parts import read_unknown, split_images
from onlinefa_benchmark.measurement import Measurement, diverged, measured
from onlinefa_benchmark.randomness import generator

if TYPE_CHECKING:
    from onlinefa_benchmark.cells import Cell
    from onlinefa_benchmark.context import Context

log = logging.getLogger(__name__)

_STEP = 1
_SEED_OF_GALLERY = 0  # images of several seeds cannot be averaged


def run(cell: Cell, context: Context) -> Iterator[Measurement]:
    """Measure one posterior of one seed."""
    study = context.cache.get("image study", _identify(cell), lambda: Study(cell, context))
    posterior = build_posterior(cell, context.algorithm)
    try:
        values, networks, seconds = study.measure(posterior, int(cell.axes["K"]), context)
    except DIVERGENCES as reason:
        for metric, contract in CONTRACTS.items():
            yield diverged(_STEP, metric, str(reason), 0.0, contract=contract)
        return
    for (metric, index), value in values.items():
        contract = CONTRACTS.get(metric, "")
        yield measured(_STEP, metric, value, seconds, index, contract, networks)


def build_posterior(cell: Cell, algorithm: Any) -> DeepPosterior:
    """Return the cell's posterior, or the Gaussian that its estimator fits to SGD's walk."""
    settings = dict(cell.parameters["settings"])
    if issubclass(algorithm, DeepPosterior):
        posterior: DeepPosterior = algorithm(**settings)
        return posterior
    return Walks(partial(build_estimator, algorithm, settings))


def _identify(cell: Cell) -> str:
    """Return what the cells that share training runs have in common."""
    shared = {name: cell.parameters[name] for name in ("training", "evaluation", "root_seed")}
    return repr((cell.axes["dataset"], cell.axes["architecture"], cell.seed, shared))


class Study:
    """The images and the training runs of a seed.

    Parameters
    ----------
    cell : Cell
        Any cell of the seed.
    context : Context
        Files and the other cells of the job.
    """

    def __init__(self, cell: Cell, context: Context) -> None:
        self.dataset, self.architecture = str(cell.axes["dataset"]), str(cell.axes["architecture"])
        self.seed, self.parameters = cell.seed, cell.parameters
        self.random = partial(
            generator, int(cell.parameters["root_seed"]), "images", self.dataset, cell.seed
        )
        facts, training = ARCHITECTURES[self.architecture], dict(cell.parameters["training"])
        self.is_augmented = training.pop("augmentation")
        limit = training.pop("training_images")
        self.schedule = Schedule(**training)
        self.data = split_images(
            context.read_images(self.dataset), self.random("held_out"), limit, facts.scale
        )
        self.evaluation = EvaluationImages.make(
            self.data,
            self._read_unknown(cell, context),
            cell.parameters["evaluation"],
            self.random("second_model"),
        )
        self.weights = context.weights_path(facts.weights) if facts.weights else None
        self.device = context.device
        self._runs: dict[str, RunResult] = {}
        self._baseline: Array | None = None
        identity = _identify(cell)
        self._observers = _collect_observers(
            [each for each in context.companions if _identify(each[0]) == identity],
            self.estimator_seed,
        )

    def _read_unknown(self, cell: Cell, context: Context) -> list[Bytes]:
        number = int(cell.parameters["evaluation"]["unknown_images"])
        shape = self.data.training.images.shape[1:]
        names = cell.parameters["unknown"]
        return [read_unknown(name, context, shape, number) for name in names]

    @cached_property
    def estimator_seed(self) -> int:
        """The seed of estimators that observe runs."""
        return int(self.random("init").integers(2**31))

    def make_network(self, dropout: float = 0.0) -> nn.Module:
        """Create a network with random weights, or with pretrained ones."""
        shape = self.data.training.images.shape[1:]
        return build(
            self.architecture, shape, self.data.classes, dropout=dropout, pretrained=self.weights
        )

    def measure(
        self, posterior: DeepPosterior, K: int, context: Context
    ) -> tuple[MetricValues, int, float]:
        """Build a posterior and measure it.

        Returns
        -------
        values : dict
            Values of metrics.
        networks : int
            Number of networks that were drawn.
        seconds : float
            Time of training and of the fit.
        """
        for number in range(posterior.runs):
            self._get_run(number, context)
        task = self._make_task(K, context)
        posterior.prepare()
        start = perf_counter()
        predictor = posterior.build(task)
        _synchronise(self.device)
        # The task counts the time of training, also of runs that an earlier attempt has finished.
        own = perf_counter() - start - task.training_seconds
        seconds = task.seconds + own
        start = perf_counter()
        probabilities = self._predict(predictor, self.evaluation.pixels)
        prediction = perf_counter() - start
        values = measure(probabilities, self.evaluation)
        if self.seed == _SEED_OF_GALLERY:
            values |= self._measure_gallery(probabilities, context)
        log.info("predictions of %d images: %.1f s", len(self.evaluation.pixels), prediction)
        values["posterior_megabytes", ()] = predictor.size / 1e6
        return values, predictor.networks, seconds

    def _predict(self, predictor: Predictor, pixels: Bytes) -> Array:
        inputs = [batch.to(self.device) for batch in make_batches(pixels, self.data.scale)]
        with torch.no_grad():
            probabilities: Array = predictor.predict(inputs).double().cpu().numpy()
        return probabilities

    def _measure_gallery(self, probabilities: Array, context: Context) -> MetricValues:
        """Compare with the trained network of the first run, if there is one."""
        test = self.evaluation.test
        if self._baseline is None:
            try:
                network = FixedNetworks([self._make_task(1, context).mode()])
            except TrainingDiverged as reason:
                log.warning("no gallery: %s", reason)
                return {}
            self._baseline = self._predict(network, self.evaluation.pixels[test])
        rows = self.data.test_rows[: test.stop]
        return measure_gallery(probabilities[test], self._baseline, rows)

    def _make_task(self, K: int, context: Context) -> DeepTask:
        return DeepTask(
            data=self.data,
            make_network=self.make_network,
            schedule=self.schedule,
            K=K,
            samples=self.parameters["evaluation"]["samples"],
            recollection=self.parameters["evaluation"]["recollection"],
            get_run=lambda number: self._get_run(number, context),
            train=lambda name, recipe: self._get(name, recipe, {}, context),
            random=self.random,
            estimator_seed=self.estimator_seed,
            device=self.device,
        )

    def _get_run(self, number: int, context: Context) -> RunResult:
        recipe = SGDTrajectory(self.schedule, len(self.data.training))
        return self._get(f"run-{number}", recipe, self._observers_of(number), context)

    def _get(
        self,
        name: str,
        recipe: Recipe,
        observers: Mapping[str, FactorEstimator],
        context: Context,
    ) -> RunResult:
        if name not in self._runs:
            self._runs[name] = self._train(name, recipe, observers, context)
        return self._runs[name]

    def _observers_of(self, number: int) -> dict[str, FactorEstimator]:
        return {
            name: observer.estimator
            for name, observer in self._observers.items()
            if observer.runs > number
        }

    def _train(
        self,
        name: str,
        recipe: Recipe,
        observers: Mapping[str, FactorEstimator],
        context: Context,
    ) -> RunResult:
        seed = self.random("weights").integers(2**31, size=2)
        run = Run(
            f"{self.dataset}-{self.architecture}-{self.seed}-{name}",
            self.make_network,
            recipe,
            self.data,
            self.is_augmented,
            (*map(int, seed), *name.encode()),
            observers,
            self.device,
        )
        return train(run, context.workspace, context.checkpoint, context.progress)


def _synchronise(device: str) -> None:
    """Wait until a GPU has finished, because calls return before it has."""
    if device != "cpu":
        torch.cuda.synchronize()


@dataclass(frozen=True)
class _Observer:
    """An estimator that observes the first runs of a seed."""

    estimator: FactorEstimator
    runs: int


def _collect_observers(
    companions: list[tuple[Cell, Any]], random_state: int
) -> dict[str, _Observer]:
    """Return the estimators of cells by name, each for as many runs as some cell needs."""
    found: dict[str, _Observer] = {}
    for cell, algorithm in companions:
        posterior = build_posterior(cell, algorithm)
        estimator = posterior.observer(int(cell.axes["K"]), random_state)
        if estimator is not None:
            _compile(estimator)
            name = name_observer(estimator)
            runs = found[name].runs if name in found else 0
            found[name] = _Observer(estimator, max(runs, posterior.runs))
    return found


def _compile(estimator: FactorEstimator) -> None:
    """Fit an estimator to a few rows, so that compiling does not count as time of the fit.

    Networks have single precision. Estimators that accept tensors are not compiled.
    """
    if not estimator.accepts_tensors:
        K = int(getattr(estimator, "n_components", 1))
        shape = (getattr(estimator, "warm_up", 0) + 3, K + 2)
        rows = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
        with suppress(FitDiverged):
            clone(estimator).fit(rows)
