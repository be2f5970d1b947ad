"""Measurements of a posterior of networks on held-out rows of a regression table.

A seed is a split: a tenth of the rows is the test part. If hyperparameters are chosen by
validation, a fifth of the other rows is the validation part. Inputs and targets are standardised on
the rows outside the test part; all test metrics are in the table's own units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.experiments.network.splits import Split, random_split, standard_split
from onlinefa_benchmark.experiments.network.study import (
    EvidenceStudy,
    MetricValues,
    Study,
    ValidationStudy,
    run_study,
)
from onlinefa_benchmark.experiments.network.trained_networks import (
    EvidenceNetworks,
    HeteroscedasticNetworks,
    NetworkTraining,
    Rows,
    UpdatedNetworks,
)
from onlinefa_benchmark.measurement import Measurement
from onlinefa_benchmark.models.predictive import GaussianMixture, coverage
from onlinefa_benchmark.models.scaling import Scaling, append_ones
from onlinefa_benchmark.randomness import generator

if TYPE_CHECKING:
    from onlinefa_benchmark.cells import Cell
    from onlinefa_benchmark.context import Context

_BY_EVIDENCE: dict[str, type[EvidenceNetworks]] = {
    "evidence": EvidenceNetworks,
    "heteroscedastic": HeteroscedasticNetworks,
}
_SHARES = (50, 90, 95)  # per cent, of central intervals

_OF_POINTS = "mean over held-out points"
CONTRACTS = {
    "test_nll": f"{_OF_POINTS}, y in its own units",
    "test_rmse": "root of the mean over held-out points, y in its own units",
    "test_crps": f"{_OF_POINTS}, y in its own units",
    **{f"coverage_{share}": "share of held-out points" for share in _SHARES},
}


def run(cell: Cell, context: Context) -> Iterator[Measurement]:
    """Measure one posterior on one split."""
    dataset, noise = str(cell.axes["dataset"]), str(cell.axes["noise"])
    # Cells of one split follow one another and share its networks.
    study = context.cache.get(
        "network study",
        (dataset, noise, cell.seed, repr(sorted(cell.parameters["training"].items()))),
        lambda: make_study(cell, context),
    )
    yield from run_study(cell, study, context)


def make_study(cell: Cell, context: Context) -> Study:
    """Return the split of a cell, with networks that are trained when they are needed."""
    dataset, parameters = str(cell.axes["dataset"]), cell.parameters
    random = partial(generator, int(parameters["root_seed"]), "network", dataset, cell.seed)
    inputs, y = context.read_table(dataset)
    split = _split(parameters["splits"], len(y), cell.seed, random("held_out"))
    rest, asked = split.training, split.test
    of_inputs, of_targets = Scaling.of(inputs[rest]), Scaling.of(y[rest])
    X, z = append_ones(of_inputs.apply(inputs)), of_targets.apply(y)
    shared: dict[str, Any] = {
        "asked": X[asked],
        "random": random,
        "measure": partial(measure, y=z[asked], unit=float(of_targets.sd)),
        "contracts": CONTRACTS,
    }
    how: dict[str, Any] = {
        "training": NetworkTraining(**parameters["training"]),
        "random": random,
        "device": context.device,
        "progress": context.progress,
        **parameters["selection"],
    }
    whole = Rows(X[rest], z[rest])
    noise = str(cell.axes["noise"])
    if noise in _BY_EVIDENCE:
        return EvidenceStudy(**shared, networks=_BY_EVIDENCE[noise](table=whole, **how))
    validation, learned = np.split(rest, [len(rest) // 5])
    return ValidationStudy(
        **shared,
        search=UpdatedNetworks(table=Rows(X[learned], z[learned]), **how),
        validation=Rows(X[validation], z[validation]),
        networks=UpdatedNetworks(table=whole, **how),
    )


def _split(kind: str, rows: int, seed: int, random: np.random.Generator) -> Split:
    return standard_split(rows, seed) if kind == "standard" else random_split(rows, random)


def measure(
    predicted: GaussianMixture, additional: Mapping[str, Callable[..., Any]], y: Array, unit: float
) -> MetricValues:
    """Return the test metrics of a prediction of standardised targets y with a unit."""
    levels = predicted.cdf(y)
    values: MetricValues = {
        ("test_nll", ()): float(np.log(unit) - np.mean(predicted.log_density(y))),
        ("test_rmse", ()): float(unit * np.sqrt(np.mean((predicted.mean - y) ** 2))),
        ("test_crps", ()): float(unit * np.mean(predicted.crps(y))),
    }
    values |= {(f"coverage_{share}", ()): coverage(levels, share / 100) for share in _SHARES}
    return values | {(name, ()): float(score(predicted, y)) for name, score in additional.items()}
