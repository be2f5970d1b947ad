"""Measurements of a posterior of networks on held-out rows of a regression table.

A seed is a random split. A tenth of the rows is the test part. A fifth of the others is the
validation part, by which hyperparameters are chosen. Inputs and targets are standardised on the
training and validation parts; all test metrics are in the table's own units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.experiments.network.model_selection import MetricValues, Study, run_study
from onlinefa_benchmark.experiments.network.task import NetworkTraining, Rows
from onlinefa_benchmark.measurement import Measurement
from onlinefa_benchmark.models.likelihoods import Gaussian
from onlinefa_benchmark.models.predictive import coverage
from onlinefa_benchmark.models.scaling import Scaling, append_ones
from onlinefa_benchmark.posteriors.base import Functions
from onlinefa_benchmark.randomness import generator

if TYPE_CHECKING:
    from onlinefa_benchmark.cells import Cell
    from onlinefa_benchmark.context import Context

_SHARES = (50, 90, 95)  # per cent, of central intervals
LEVELS = tuple(range(5, 100, 5))  # per cent, of the calibration curve

_OF_POINTS = "mean over held-out points"
CONTRACTS = {
    "test_nll": f"{_OF_POINTS}, y in its own units",
    "test_rmse": "root of the mean over held-out points, y in its own units",
    "test_crps": f"{_OF_POINTS}, y in its own units",
    **{f"coverage_{share}": "share of held-out points" for share in _SHARES},
    "calibration": "share of held-out points",
}


def run(cell: Cell, context: Context) -> Iterator[Measurement]:
    """Measure one posterior on one split."""
    dataset, root = str(cell.axes["dataset"]), int(cell.parameters["root_seed"])
    training = NetworkTraining(**cell.parameters["training"])
    # Cells of one split follow one another and share its networks.
    study = context.cache.get(
        "network study",
        (dataset, cell.seed, root, training),
        lambda: _study(dataset, cell.seed, root, training, context),
    )
    yield from run_study(cell, study, context)


def _study(
    dataset: str, seed: int, root: int, training: NetworkTraining, context: Context
) -> Study:
    random = partial(generator, root, "network", dataset, seed)
    inputs, y = context.read_table(dataset)
    order = random("held_out").permutation(len(y))
    asked, rest = np.split(order, [len(y) // 10])
    of_inputs, of_targets = Scaling.of(inputs[rest]), Scaling.of(y[rest])
    X, z = append_ones(of_inputs.apply(inputs)), of_targets.apply(y)
    validation, learned = np.split(rest, [len(rest) // 5])
    return Study(
        Rows(X[learned], z[learned]),
        Rows(X[validation], z[validation]),
        X[asked],
        training,
        random,
        Gaussian,
        lambda functions, targets, noise: (
            -float(np.mean(functions.targets(noise).log_density(targets)))
        ),
        partial(measure, y=z[asked], unit=float(of_targets.sd)),
        CONTRACTS,
        context.device,
        progress=context.progress,
    )


def measure(
    functions: Functions,
    noise: float,
    additional: Mapping[str, Callable[..., Any]],
    y: Array,
    unit: float,
) -> MetricValues:
    """Return the test metrics of predictions for standardised targets y with a unit."""
    predicted = functions.targets(noise)
    levels = predicted.cdf(y)
    values: MetricValues = {
        ("test_nll", ()): float(np.log(unit) - np.mean(predicted.log_density(y))),
        ("test_rmse", ()): float(unit * np.sqrt(np.mean((predicted.mean - y) ** 2))),
        ("test_crps", ()): float(unit * np.mean(predicted.crps(y))),
    }
    values |= {(f"coverage_{share}", ()): coverage(levels, share / 100) for share in _SHARES}
    values |= {(name, ()): float(score(predicted, y)) for name, score in additional.items()}
    return values | {
        ("calibration", (level,)): float(np.mean(levels <= level / 100)) for level in LEVELS
    }
