"""MultiSWAG itself: networks on regression tables, against what a user would pick instead.

A seed is a random split: a tenth of the rows is the test, a fifth of the others decides between
hyperparameters. Inputs and targets are standardised on what is learned from; all test metrics are
in the table's own units.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from onlinefa import data, devices
from onlinefa.cell import Cell
from onlinefa.experiments.network_task import Table, Training
from onlinefa.experiments.searching import Study, run_study
from onlinefa.experiments.tracking import Measurement
from onlinefa.gaussian import Array
from onlinefa.metrics import Value
from onlinefa.models.likelihoods import Gaussian
from onlinefa.models.predictive import coverage
from onlinefa.models.scaling import Scaling, with_one
from onlinefa.posteriors.base import Functions
from onlinefa.randomness import generator

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


def run(cell: Cell, tables: Path) -> Iterator[Measurement]:
    """One posterior on one split."""
    study = _study(
        str(cell.axes["dataset"]),
        cell.seed,
        int(cell.parameters["root_seed"]),
        Training(**cell.parameters["training"]),
        devices.resolve(cell.device),
        tables,
    )
    yield from run_study(cell, study)


@lru_cache(maxsize=1)  # the cells of a split follow each other
def _study(
    dataset: str, seed: int, root: int, training: Training, device: str, tables: Path
) -> Study:
    random = partial(generator, root, "network", dataset, seed)
    inputs, y = data.read(dataset, tables)
    order = random("held_out").permutation(len(y))
    asked, rest = np.split(order, [len(y) // 10])
    of_inputs, of_targets = Scaling.of(inputs[rest]), Scaling.of(y[rest])
    X, z = with_one(of_inputs.apply(inputs)), of_targets.apply(y)
    held_back, learned = np.split(rest, [len(rest) // 5])
    return Study(
        Table(X[learned], z[learned]),
        Table(X[held_back], z[held_back]),
        X[asked],
        training,
        random,
        Gaussian,
        lambda functions, targets, noise: (
            -float(np.mean(functions.targets(noise).log_density(targets)))
        ),
        partial(measure, y=z[asked], unit=float(of_targets.sd)),
        CONTRACTS,
        device,
    )


def measure(functions: Functions, noise: float, y: Array, unit: float) -> dict[str, Value]:
    """Of predictions for targets y, which are in units of so much of the table's own."""
    predicted = functions.targets(noise)
    levels = predicted.cdf(y)
    values: dict[str, Value] = {
        "test_nll": float(np.log(unit) - np.mean(predicted.log_density(y))),
        "test_rmse": float(unit * np.sqrt(np.mean((predicted.mean - y) ** 2))),
        "test_crps": float(unit * np.mean(predicted.crps(y))),
    }
    values |= {f"coverage_{share}": coverage(levels, share / 100) for share in _SHARES}
    return values | {
        f"calibration[{level}]": float(np.mean(levels <= level / 100)) for level in LEVELS
    }
