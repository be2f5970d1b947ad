"""From a configuration to the list of jobs, each a bundle of cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

from onlinefa import data
from onlinefa.cell import Axis, Bundle
from onlinefa.config import Change, Config, Linear, Plane, Scale, Synthetic, Walking
from onlinefa.digest import code_digest
from onlinefa.estimators import default_settings
from onlinefa.experiments import module_of

Axes = dict[str, Axis]
Inner = dict[str, Sequence[Axis]]
Jobs = Iterator[tuple[Axes, Inner, dict[str, Any]]]
"""The axes of each job, the axes inside of it, and the parameters that its experiment adds."""


def bundles(config: Config) -> list[Bundle]:
    """All jobs of a configuration."""
    jobs: dict[str, Callable[[Any], Jobs]] = {
        "synthetic": _synthetic,
        "eigenvalues": _eigenvalues,
        "components": _synthetic,
        "scale": _scale,
        "change": _change,
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
    estimator = bundle.cells()[0].estimator
    return code_digest(module_of(bundle.experiment), f"onlinefa.estimators.{estimator}")


def dataset_of(bundle: Bundle) -> str | None:
    """The table that a bundle's cells read; None if they make up their own data."""
    return str(bundle.axes["dataset"]) if bundle.experiment == "linear" else None


def _shared(config: Config, algorithm: str) -> dict[str, Any]:
    variant = config.variants.get(algorithm)
    if variant is None:
        settings = default_settings(algorithm) | config.settings.get(algorithm, {})
        return {"root_seed": config.root_seed, "settings": settings}
    of = _shared(config, variant.algorithm)
    return of | {"estimator": variant.algorithm, "settings": of["settings"] | variant.settings}


def _synthetic(grid: Synthetic) -> Jobs:
    for algorithm, D, K, (low, high) in product(grid.algorithms, grid.D, grid.K, grid.spectrum):
        axes: Axes = {"algorithm": algorithm, "D": D, "K": K, "spectrum": f"{low}-{high}"}
        yield axes, {}, {"dataset": "algorithm_3", "spectrum": [low, high], "T": grid.T}


def _eigenvalues(grid: Synthetic) -> Jobs:
    for axes, inner, parameters in _synthetic(grid):
        yield axes, inner, parameters | {"dataset": "eigenvalues"}


def _scale(grid: Scale) -> Jobs:
    for axes, _, parameters in _synthetic(grid):
        yield axes, {"scale": grid.scales}, parameters


def _change(grid: Change) -> Jobs:
    for axes, inner, parameters in _synthetic(grid):
        yield axes, inner, parameters | {"change_at": grid.change_at}


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
