"""From a configuration to the list of jobs, each a bundle of cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

from onlinefa import data
from onlinefa.cell import Bundle
from onlinefa.config import Config, Linear, Plane, Synthetic, Walking
from onlinefa.digest import code_digest
from onlinefa.estimators import default_settings

Axes = dict[str, str | int]
Inner = dict[str, Sequence[str | int]]
Jobs = Iterator[tuple[Axes, Inner, dict[str, Any]]]
"""The axes of each job, the axes inside of it, and the parameters that its experiment adds."""


def bundles(config: Config) -> list[Bundle]:
    """All jobs of a configuration."""
    jobs: dict[str, Callable[[Any], Jobs]] = {
        "synthetic": _synthetic,
        "linear": _linear,
        "plane": _plane,
    }
    return [
        Bundle(experiment, axes, inner, seeds, shared | parameters)
        for experiment, jobs_of in jobs.items()
        if (grid := getattr(config, experiment)) is not None
        for axes, inner, parameters in jobs_of(grid)
        for shared in [_shared(config, str(axes["algorithm"]))]
        for seeds in _chunks(grid.seeds, config.seeds_per_job)
    ]


def code_of(bundle: Bundle) -> str:
    """Digest of the source that a bundle's experiment and algorithm import."""
    return code_digest(
        f"onlinefa.experiments.{bundle.experiment}", f"onlinefa.estimators.{bundle.algorithm}"
    )


def dataset_of(bundle: Bundle) -> str | None:
    """The table that a bundle's cells read; None if they make up their own data."""
    return str(bundle.axes["dataset"]) if bundle.experiment == "linear" else None


def _shared(config: Config, algorithm: str) -> dict[str, Any]:
    settings = default_settings(algorithm) | config.settings.get(algorithm, {})
    return {"root_seed": config.root_seed, "settings": settings}


def _synthetic(grid: Synthetic) -> Jobs:
    for algorithm, D, K, (low, high) in product(grid.algorithms, grid.D, grid.K, grid.spectrum):
        axes: Axes = {"algorithm": algorithm, "D": D, "K": K, "spectrum": f"{low}-{high}"}
        yield axes, {}, {"dataset": "algorithm_3", "spectrum": [low, high], "T": grid.T}


# A walk over a table takes a second or less, and so several share a job.


def _linear(grid: Linear) -> Jobs:
    inner: Inner = {"walk": grid.walks, "K": grid.K}
    for dataset, algorithm in product(grid.datasets, grid.algorithms):
        table = data.table(dataset)
        axes: Axes = {"dataset": dataset, "D": table.dimension, "algorithm": algorithm}
        own = {"learning_rate": grid.learning_rate, "table": table.digest}
        yield axes, inner, _walking(grid) | own


def _plane(grid: Plane) -> Jobs:
    inner: Inner = {"walk": [f"{rate:g}" for rate in grid.rates]}
    for algorithm in grid.algorithms:
        axes: Axes = {"dataset": "plane", "D": 2, "K": 1, "algorithm": algorithm}
        yield axes, inner, _walking(grid)


def _walking(grid: Walking) -> dict[str, Any]:
    return {
        "batch": grid.batch,
        "warm_up": grid.warm_up,
        "every": grid.every,
        "epochs": grid.epochs,
    }


def _chunks(seeds: list[int], size: int) -> Iterator[tuple[int, ...]]:
    for start in range(0, len(seeds), size):
        yield tuple(seeds[start : start + size])
