"""Chapter 7: do sampled networks say what the Gaussian process says that wide ones become?

A network's weights are given a posterior, networks are drawn from it, and what they say of the
function at some inputs is held against the exact process: its mean and its standard deviation. All
targets are in units of the table's, so that prior and noise mean the same for every table; test
log-likelihood and error are in the table's own.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path

import numpy as np

from onlinefa import data, devices
from onlinefa.cell import Cell
from onlinefa.estimators.base import FitDiverged
from onlinefa.experiments.asking import posterior_of
from onlinefa.experiments.gp_task import GPTask, Training
from onlinefa.experiments.tracking import Measurement
from onlinefa.gaussian import Array
from onlinefa.metrics import Value
from onlinefa.models import toy
from onlinefa.models.covariance import Covariance, NeuralNetwork
from onlinefa.models.gaussian_process import (
    Bounds,
    GaussianProcess,
    NotPositiveDefinite,
    most_likely,
)
from onlinefa.models.likelihoods import Gaussian
from onlinefa.models.network import NetworkPosterior
from onlinefa.models.scaling import Scaling, with_one
from onlinefa.models.sgd_walk import WalkDiverged
from onlinefa.posteriors.base import Functions, Task
from onlinefa.randomness import generator

log = logging.getLogger(__name__)

METRICS = (
    "function_wasserstein2", "mean_error", "sd_ratio", "test_log_likelihood", "test_rmse",
)  # fmt: skip

_STEP = 1  # there is one measurement, at the end

# Noise of less than a twentieth of the targets' spread makes a posterior so narrow that NUTS takes
# hours, and nobody's table is known that well.
_BOUNDS = Bounds(least_noise=0.05)


@dataclass(frozen=True, eq=False)
class Problem:
    """A table in two parts, and the process that is most likely for the first."""

    process: GaussianProcess
    inputs: Array
    """Where the function is asked for, with a constant one as their last column."""
    targets: Array
    unit: float
    """Of the targets, in the table's own."""


def run(cell: Cell, tables: Path) -> Iterator[Measurement]:
    """Compare one posterior with the process."""
    try:
        problem, task = task_of(cell, tables)
        posterior = posterior_of(cell)
        truth = posterior.truth(task)
        functions, seconds = posterior.timed(task)
    except NotPositiveDefinite as reason:
        log.warning("%s", reason)
        for metric in METRICS:
            yield Measurement.of(_STEP, metric, str(reason), 0.0)
    except (FitDiverged, WalkDiverged) as divergence:
        log.warning("%s", divergence)
        for metric in METRICS:
            yield Measurement(_STEP, metric, None, "diverged", str(divergence), 0.0)
    else:
        values = measure(problem, truth, functions) | _curves(cell, problem, functions)
        for metric, value in values.items():
            yield Measurement.of(_STEP, metric, value, seconds)


def measure(problem: Problem, truth: GaussianProcess, functions: Functions) -> dict[str, Value]:
    """How far functions are from a process's, on average over the inputs; and test errors.

    Distances are in units of the process's standard deviation. That of 2-Wasserstein is between
    Gaussians with the means and standard deviations of both.
    """
    mean, variance = truth.predict(problem.inputs)
    sd = np.sqrt(variance)
    away, ratio = np.abs(functions.mean - mean) / sd, functions.sd / sd
    densities = functions.targets(truth.noise).log_density(problem.targets) - np.log(problem.unit)
    errors = problem.unit * (problem.targets - functions.mean)
    values: dict[str, Value] = {
        "function_wasserstein2": float(np.mean(np.hypot(away, ratio - 1))),
        "mean_error": float(np.mean(away)),
        "sd_ratio": float(np.mean(ratio)),
        "test_log_likelihood": float(np.mean(densities)),
        "test_rmse": float(np.sqrt(np.mean(errors**2))),
    }
    if functions.doubt:
        values = dict.fromkeys(values, functions.doubt)
    return values | dict(functions.diagnostics)


def _curves(cell: Cell, problem: Problem, functions: Functions) -> dict[str, Value]:
    """The toy's functions, point by point, and what they were learned from: to be drawn."""
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
        f"{name}[{i}]": float(value)
        for name, column in columns.items()
        for i, value in enumerate(column)
    }


def task_of(cell: Cell, tables: Path) -> tuple[Problem, Task]:
    """What a cell's posterior is asked: the same for all algorithms."""
    return _task(
        str(cell.axes["dataset"]),
        int(cell.axes["width"]),
        cell.seed,
        int(cell.parameters["root_seed"]),
        Training(**cell.parameters["training"]),
        int(cell.axes["K"]),
        int(cell.parameters.get("samples", 0)),
        _device(cell.device),
        tables,
    )


@lru_cache(maxsize=1)
def _task(
    dataset: str,
    width: int,
    seed: int,
    root: int,
    training: Training,
    K: int,
    samples: int,
    device: str,
    tables: Path,
) -> tuple[Problem, Task]:
    problem, network, known_modes = _network(dataset, width, seed, root, device, tables)
    return problem, GPTask(
        network,
        problem.inputs,
        K,
        samples,
        partial(generator, root, "gp", dataset, seed),
        training,
        problem.process,
        lambda covariance: _process(dataset, seed, root, tables, covariance),
        known_modes,
    )


# The cells of a network follow each other, and share its mode; so do those of a table.
@lru_cache(maxsize=1)
def _network(
    dataset: str, width: int, seed: int, root: int, device: str, tables: Path
) -> tuple[Problem, NetworkPosterior, dict[tuple[int, int], Array]]:
    problem = _problem(dataset, seed, root, tables)
    process = problem.process
    assert isinstance(process.covariance, NeuralNetwork)
    network = NetworkPosterior(
        process.X, process.y, process.covariance, Gaussian(process.noise), width, device
    )
    return problem, network, {}


@lru_cache(maxsize=1)
def _problem(dataset: str, seed: int, root: int, tables: Path) -> Problem:
    *_, X_asked, y_asked, unit = _table(dataset, seed, root, tables)
    process = _process(dataset, seed, root, tables, NeuralNetwork)
    return Problem(process, X_asked, y_asked, unit)


@lru_cache(maxsize=2)  # that of the network, and one of another covariance
def _process(
    dataset: str, seed: int, root: int, tables: Path, covariance: type[Covariance]
) -> GaussianProcess:
    """The most likely for what is learned from."""
    X, y, *_ = _table(dataset, seed, root, tables)
    random = generator(root, "gp", dataset, _seed_of_data(dataset, seed), "model")
    return most_likely(X, y, covariance, random, bounds=_BOUNDS)


def _table(
    dataset: str, seed: int, root: int, tables: Path
) -> tuple[Array, Array, Array, Array, float]:
    """Its two parts in units of what is learned from, with a constant one, and the unit of y."""
    X, y, X_asked, y_asked = _parts(dataset, seed, root, tables)
    try:
        of_inputs, of_targets = Scaling.of(X), Scaling.of(y)
    except ValueError as error:
        raise ValueError(f"{dataset}, seed {seed}: {error}") from None
    return (
        with_one(of_inputs.apply(X)),
        of_targets.apply(y),
        with_one(of_inputs.apply(X_asked)),
        of_targets.apply(y_asked),
        float(of_targets.sd),
    )


def _seed_of_data(dataset: str, seed: int) -> int:
    """The toy is one for all seeds, so that its functions can be drawn; seeds then differ in what
    is random about networks."""
    return 0 if dataset == "toy" else seed


def _parts(dataset: str, seed: int, root: int, tables: Path) -> tuple[Array, Array, Array, Array]:
    """Inputs and targets to learn from, and others: of a table, a tenth."""
    if dataset == "toy":
        return toy.generate(generator(root, "gp", dataset, _seed_of_data(dataset, seed), "data"))
    inputs, y = data.read(dataset, tables)
    order = generator(root, "gp", dataset, seed, "held_out").permutation(len(y))
    asked, rest = np.split(order, [len(y) // 10])
    return inputs[rest], y[rest], inputs[asked], y[asked]


@cache  # it is asked for with every cell, and need not warn as often
def _device(wanted: str) -> str:
    return devices.resolve(wanted)
