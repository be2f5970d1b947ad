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
from time import perf_counter

import numpy as np

from onlinefa import data, devices, posteriors
from onlinefa.cell import Cell
from onlinefa.experiments.tracking import (
    Measurement,
    StreamDiverged,
    Trial,
    import_and_compile,
    new_estimator,
    track,
)
from onlinefa.gaussian import Array, LowRankGaussian
from onlinefa.metrics import Value
from onlinefa.models import toy
from onlinefa.models.covariance import NeuralNetwork
from onlinefa.models.gaussian_process import Bounds, GaussianProcess, most_likely
from onlinefa.models.network import NetworkPosterior
from onlinefa.models.scaling import Scaling, with_one
from onlinefa.models.sgd_walk import WalkDiverged
from onlinefa.posteriors.base import Functions, SampledFunctions, Task, Training
from onlinefa.randomness import generator

log = logging.getLogger(__name__)

METRICS = (
    "function_wasserstein2", "mean_error", "sd_ratio", "test_log_likelihood", "test_rmse",
)  # fmt: skip

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
    problem, task = task_of(cell, tables)
    if cell.estimator in posteriors.names():
        yield from _ask(cell, problem, task)
    else:
        yield from _follow(cell, problem, task)


def _ask(cell: Cell, problem: Problem, task: Task) -> Iterator[Measurement]:
    """A posterior that is found in some other way than along SGD's walk."""
    posterior = posteriors.build(cell.estimator, dict(cell.parameters["settings"]))
    if posterior.trained:
        log.info("mode found, the log posterior is %.6g", task.log_posterior_of_mode)
    start = perf_counter()
    functions = posterior.functions(task)
    seconds = perf_counter() - start
    values = measure(problem, posterior.truth(task), functions)
    for metric, value in (values | _curves(cell, problem, functions)).items():
        yield Measurement.of(cell.parameters["epochs"], metric, value, seconds)


def _follow(cell: Cell, problem: Problem, task: Task) -> Iterator[Measurement]:
    """A Gaussian that is fitted to the weights along SGD's walk."""

    def stream(step: int) -> Iterator[Array]:
        try:
            yield from task.walk()
        except WalkDiverged as divergence:
            raise StreamDiverged(str(divergence)) from divergence

    def compare(step: int, estimate: LowRankGaussian) -> dict[str, Value]:
        thetas = estimate.sample(task.samples, task.random("sampling"))
        functions = SampledFunctions(task.network.functions(thetas, task.inputs))
        return measure(problem, task.process, functions) | _curves(cell, problem, functions)

    trial = Trial(
        task.network.dimension,
        [cell.parameters["epochs"]],
        stream,
        compare,
        lambda _: METRICS,
        init=task.random("init"),
        sampling=task.random("sampling"),
    )
    import_and_compile(cell)
    yield from track(new_estimator(cell, trial), trial)


def measure(problem: Problem, truth: GaussianProcess, functions: Functions) -> dict[str, Value]:
    """How far functions are from a process's, on average over the inputs; and test errors.

    Distances are in units of the process's standard deviation. That of 2-Wasserstein is between
    Gaussians with the means and standard deviations of both.
    """
    mean, variance = truth.predict(problem.inputs)
    sd = np.sqrt(variance)
    away, ratio = np.abs(functions.mean - mean) / sd, functions.sd / sd
    densities = functions.log_density(problem.targets, truth.noise) - np.log(problem.unit)
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
        int(cell.parameters["samples"]),
        _device(cell.device),
        tables,
    )


# The cells of a network follow each other, and share its mode; so do those of a table.
@lru_cache(maxsize=1)
def _task(
    dataset: str,
    width: int,
    seed: int,
    root: int,
    training: Training,
    samples: int,
    device: str,
    tables: Path,
) -> tuple[Problem, Task]:
    problem = _problem(dataset, seed, root, tables)
    process = problem.process
    assert isinstance(process.covariance, NeuralNetwork)
    network = NetworkPosterior(
        process.X, process.y, process.covariance, process.noise, width, device
    )
    random = partial(generator, root, "gp", dataset, seed)
    return problem, Task(network, process, problem.inputs, training, samples, random)


@lru_cache(maxsize=1)
def _problem(dataset: str, seed: int, root: int, tables: Path) -> Problem:
    """Of a table it is another one for each seed.

    That of the toy is the same for all, so that its functions can be drawn; seeds then differ in
    what is random about networks.
    """
    seed = 0 if dataset == "toy" else seed
    X, y, X_asked, y_asked = _parts(dataset, seed, root, tables)
    of_inputs, of_targets = Scaling.of(X), Scaling.of(y)
    process = most_likely(
        with_one(of_inputs.apply(X)),
        of_targets.apply(y),
        NeuralNetwork,
        generator(root, "gp", dataset, seed, "model"),
        bounds=_BOUNDS,
    )
    return Problem(
        process,
        with_one(of_inputs.apply(X_asked)),
        of_targets.apply(y_asked),
        float(of_targets.sd),
    )


def _parts(dataset: str, seed: int, root: int, tables: Path) -> tuple[Array, Array, Array, Array]:
    """Inputs and targets to learn from, and others: of a table, a tenth."""
    if dataset == "toy":
        return toy.generate(generator(root, "gp", dataset, seed, "data"))
    inputs, y = data.read(dataset, tables)
    order = generator(root, "gp", dataset, seed, "held_out").permutation(len(y))
    asked, rest = np.split(order, [len(y) // 10])
    return inputs[rest], y[rest], inputs[asked], y[asked]


@cache  # it is asked for with every cell, and need not warn as often
def _device(wanted: str) -> str:
    return devices.resolve(wanted)
