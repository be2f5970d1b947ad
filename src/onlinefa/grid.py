"""From a configuration to the list of jobs, each a bundle of cells."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from onlinefa.cell import Bundle
from onlinefa.config import Config, Synthetic
from onlinefa.digest import code_digest
from onlinefa.estimators import default_settings


def bundles(config: Config) -> list[Bundle]:
    """All jobs of a configuration."""
    return list(_synthetic(config, config.synthetic)) if config.synthetic else []


def code_of(bundle: Bundle) -> str:
    """Digest of the source that a bundle's experiment and algorithm import."""
    return code_digest(
        f"onlinefa.experiments.{bundle.experiment}", f"onlinefa.estimators.{bundle.algorithm}"
    )


def _synthetic(config: Config, grid: Synthetic) -> Iterator[Bundle]:
    for algorithm, D, K, (low, high) in product(grid.algorithms, grid.D, grid.K, grid.spectrum):
        axes: dict[str, str | int] = {
            "algorithm": algorithm,
            "D": D,
            "K": K,
            "spectrum": f"{low}-{high}",
        }
        parameters = {
            "dataset": "algorithm_3",
            "root_seed": config.root_seed,
            "spectrum": [low, high],
            "T": grid.T,
            "settings": default_settings(algorithm) | config.settings.get(algorithm, {}),
        }
        for seeds in _chunks(grid.seeds, config.seeds_per_job):
            yield Bundle("synthetic", axes, seeds, parameters)


def _chunks(seeds: list[int], size: int) -> Iterator[tuple[int, ...]]:
    for start in range(0, len(seeds), size):
        yield tuple(seeds[start : start + size])
