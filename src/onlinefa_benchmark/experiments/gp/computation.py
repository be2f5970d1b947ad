"""Compare a posterior of networks with the Gaussian process, the limit of wide networks.

Networks are drawn from a posterior of the weights, and the mean and standard deviation of their
functions at some inputs are compared with those of the exact process. Targets are standardised, so
that prior and noise have the same units for every table; test log-likelihood and error are in the
units of the table.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from onlinefa.estimators.base import FitDiverged
from onlinefa.walks.errors import WalkDiverged
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.experiments._posterior_factory import build_posterior
from onlinefa_benchmark.experiments.gp.task import GPTask, GPTraining
from onlinefa_benchmark.measurement import Index, Measurement, Value, diverged, measured
from onlinefa_benchmark.models import toy
from onlinefa_benchmark.models.covariance import Covariance, NeuralNetwork
from onlinefa_benchmark.models.gaussian_process import (
    Bounds,
    GaussianProcess,
    NotPositiveDefinite,
    fit_most_likely,
)
from onlinefa_benchmark.models.likelihoods import Gaussian
from onlinefa_benchmark.models.mode_search import Mode, ModeNotReached
from onlinefa_benchmark.models.network import NetworkPosterior
from onlinefa_benchmark.models.scaling import Scaling, append_ones
from onlinefa_benchmark.posteriors.base import Functions
from onlinefa_benchmark.randomness import generator

if TYPE_CHECKING:
    from onlinefa_benchmark.cells import Cell
    from onlinefa_benchmark.context import Context

log = logging.getLogger(__name__)

METRICS = (
    "function_wasserstein2",
    "mean_error",
    "sd_ratio",
    "test_log_likelihood",
    "test_rmse",
)

MODE_GRADIENT = "mode_gradient_norm"

_STEP = 1  # there is one measurement, at the end

# With noise of less than a twentieth of the targets' spread, the posterior is so narrow that NUTS
# takes hours; no table is known to have so little noise.
_BOUNDS = Bounds(least_noise=0.05)


@dataclass(frozen=True, eq=False)
class Problem:
    """A table in two parts, and the most likely process of the training part.

    Parameters
    ----------
    process : GaussianProcess
        The process, with the training part.
    inputs : array of shape (N, p)
        Held-out inputs, with a constant one as their last column.
    targets : array of shape (N,)
        Held-out targets, standardised.
    unit : float
        Standard deviation of the targets in the table's own units.
    """

    process: GaussianProcess
    inputs: Array
    targets: Array
    unit: float


def run(cell: Cell, context: Context) -> Iterator[Measurement]:
    """Compare one posterior with the process."""
    names = [*METRICS, *context.metrics]
    try:
        problem, task = prepare_task(cell, context)
        posterior = build_posterior(cell, context)
        truth = posterior.truth(task)
        functions, seconds = posterior.timed(task)
    except (NotPositiveDefinite, ModeNotReached) as reason:
        log.warning("%s", reason)
        for metric in names:
            yield measured(_STEP, metric, str(reason), 0.0)
    except (FitDiverged, WalkDiverged) as divergence:
        log.warning("%s", divergence)
        for metric in names:
            yield diverged(_STEP, metric, str(divergence), 0.0)
    else:
        for metric, value in measure(problem, truth, functions, context.metrics).items():
            yield measured(_STEP, metric, value, seconds)
        for (metric, index), value in _curves(cell, problem, functions).items():
            yield measured(_STEP, metric, value, seconds, index)
        if posterior.trained:
            yield measured(_STEP, MODE_GRADIENT, task.mode_gradient, seconds)


def measure(
    problem: Problem,
    truth: GaussianProcess,
    functions: Functions,
    additional: Mapping[str, Callable[..., Any]] | None = None,
) -> dict[str, Value]:
    """Return the distances of functions from a process, averaged over the inputs, and test errors.

    Distances are in units of the process's standard deviation. The 2-Wasserstein distance is that
    of Gaussians with the means and standard deviations of both.
    """
    mean, variance = truth.predict(problem.inputs)
    sd = np.sqrt(variance)
    away, ratio = np.abs(functions.mean - mean) / sd, functions.sd / sd
    predicted = functions.targets(truth.noise)
    densities = predicted.log_density(problem.targets) - np.log(problem.unit)
    errors = problem.unit * (problem.targets - functions.mean)
    values: dict[str, Value] = {
        "function_wasserstein2": float(np.mean(np.hypot(away, ratio - 1))),
        "mean_error": float(np.mean(away)),
        "sd_ratio": float(np.mean(ratio)),
        "test_log_likelihood": float(np.mean(densities)),
        "test_rmse": float(np.sqrt(np.mean(errors**2))),
    }
    for name, score in (additional or {}).items():
        values[name] = float(score(predicted, problem.targets))
    if functions.doubt:
        values = dict.fromkeys(values, functions.doubt)
    return values | dict(functions.diagnostics)


def _curves(cell: Cell, problem: Problem, functions: Functions) -> dict[tuple[str, Index], Value]:
    """Return the toy's functions and training points, point by point, for the figure."""
    if cell.axes["dataset"] != "toy":
        return {}
    mean, variance = problem.process.predict(problem.inputs)
    columns = {
        "asked": problem.inputs[:, 0],
        "function_mean": functions.mean,
        "function_sd": functions.sd,
        "true_mean": mean,
        "true_sd": np.sqrt(variance),
        "input": problem.process.X[:, 0],
        "target": problem.process.y,
    }
    return {
        (name, (i,)): float(value)
        for name, column in columns.items()
        for i, value in enumerate(column)
    }


def prepare_task(cell: Cell, context: Context) -> tuple[Problem, GPTask]:
    """Return the task of a cell's posterior: the same for all algorithms."""
    training = GPTraining(**cell.parameters["training"])
    K, samples = int(cell.axes["K"]), int(cell.parameters.get("samples", 0))
    part = _Part.of(cell)
    key = (part, int(cell.axes["width"]), training, K, samples)
    return context.cache.get(
        "gp task", key, lambda: _task(part, int(cell.axes["width"]), training, K, samples, context)
    )


@dataclass(frozen=True)
class _Part:
    """A dataset and the seed that splits it."""

    dataset: str
    seed: int
    root: int

    @classmethod
    def of(cls, cell: Cell) -> _Part:
        return cls(str(cell.axes["dataset"]), cell.seed, int(cell.parameters["root_seed"]))

    @property
    def data_seed(self) -> int:
        """Seed of the data. The toy is the same for all seeds, so that functions can be drawn."""
        return 0 if self.dataset == "toy" else self.seed


def _task(
    part: _Part, width: int, training: GPTraining, K: int, samples: int, context: Context
) -> tuple[Problem, GPTask]:
    # Cells of one network follow one another and share its modes; so do those of one table.
    problem, network, known_modes = context.cache.get(
        "gp network", (part, width), lambda: _network(part, width, context)
    )
    return problem, GPTask(
        network,
        problem.inputs,
        K,
        samples,
        partial(generator, part.root, "gp", part.dataset, part.seed),
        training,
        problem.process,
        lambda covariance: _process(part, covariance, context),
        known_modes,
    )


def _network(
    part: _Part, width: int, context: Context
) -> tuple[Problem, NetworkPosterior, dict[tuple[int, int], Mode]]:
    problem = context.cache.get("gp problem", part, lambda: _problem(part, context))
    process = problem.process
    assert isinstance(process.covariance, NeuralNetwork)
    network = NetworkPosterior(
        process.X,
        process.y,
        process.covariance,
        Gaussian(process.noise),
        width,
        context.device,
        context.progress,
    )
    return problem, network, {}


def _problem(part: _Part, context: Context) -> Problem:
    *_, X_asked, y_asked, unit = _standardised(part, context)
    return Problem(_process(part, NeuralNetwork, context), X_asked, y_asked, unit)


def _process(part: _Part, covariance: type[Covariance], context: Context) -> GaussianProcess:
    """Return the most likely process of the training part."""

    def search() -> GaussianProcess:
        X, y, *_ = _standardised(part, context)
        random = generator(part.root, "gp", part.dataset, part.data_seed, "model")
        return fit_most_likely(X, y, covariance, random, bounds=_BOUNDS)

    # The process of the network, and one of another covariance.
    return context.cache.get("gp process", (part, covariance), search, keep=2)


def _standardised(part: _Part, context: Context) -> tuple[Array, Array, Array, Array, float]:
    """Return both parts in units of the training part, with a constant one, and the unit of y."""
    X, y, X_asked, y_asked = _split(part, context)
    try:
        of_inputs, of_targets = Scaling.of(X), Scaling.of(y)
    except ValueError as error:
        raise ValueError(f"{part.dataset}, seed {part.seed}: {error}") from None
    return (
        append_ones(of_inputs.apply(X)),
        of_targets.apply(y),
        append_ones(of_inputs.apply(X_asked)),
        of_targets.apply(y_asked),
        float(of_targets.sd),
    )


def _split(part: _Part, context: Context) -> tuple[Array, Array, Array, Array]:
    """Return training and held-out inputs and targets; of a table, a tenth is held out."""
    if part.dataset == "toy":
        return toy.generate(generator(part.root, "gp", part.dataset, part.data_seed, "data"))
    inputs, y = context.read_table(part.dataset)
    order = generator(part.root, "gp", part.dataset, part.seed, "held_out").permutation(len(y))
    asked, rest = np.split(order, [len(y) // 10])
    return inputs[rest], y[rest], inputs[asked], y[asked]
