"""Expansion of a configuration into jobs, each a bundle of cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from onlinefa_benchmark import experiments
from onlinefa_benchmark.axes import AxisValue
from onlinefa_benchmark.cells import Bundle, Group
from onlinefa_benchmark.config import Config
from onlinefa_benchmark.experiments._config import MOST_SEEDS
from onlinefa_benchmark.experiments.base import Experiment, ExperimentConfig


def bundles(config: Config, names: Iterable[str] | None = None) -> list[Bundle]:
    """Return the jobs of some experiments, by default of all that are configured."""
    wanted = config.experiments if names is None else set(names)
    return [
        bundle
        for name, own in config.experiments.items()
        if name in wanted
        for bundle in _bundles(experiments.load(name), own, config)
    ]


def tables_read(bundle: Bundle) -> list[str]:
    """Return the names of the tables that a job reads."""
    experiment = experiments.load(bundle.experiment)
    return sorted({name for group in bundle.groups for name in experiment.tables_read(group.axes)})


def estimate_seconds(bundle: Bundle) -> float:
    """Estimate the seconds of all cells of a job."""
    return len(bundle.seeds) * _seconds_of_seed(bundle.experiment, bundle.groups)


def _seconds_of_seed(experiment: str, groups: Iterable[Group]) -> float:
    owner = experiments.load(experiment)
    return sum(owner.estimate_seconds(group) for group in groups)


def _bundles(experiment: Experiment, own: ExperimentConfig, config: Config) -> Iterator[Bundle]:
    jobs: dict[tuple[tuple[str, AxisValue], ...], list[Group]] = {}
    for axes, parameters in experiment.groups(own):
        algorithm = str(axes["algorithm"])
        base = config.base_algorithm(algorithm)
        shared = _shared_parameters(config, own, algorithm)
        shared |= experiment.algorithm_parameters(own, config.facts_of(base))
        shared |= _device_parameter(config, experiment, shared["settings"], base)
        names = experiment.job_axes_of(own, algorithm, base)
        job = tuple((name, axes[name]) for name in names)
        jobs.setdefault(job, []).append(Group(axes, shared | parameters))
    for outer, groups in jobs.items():
        for alike, seeds in _split_by_seeds(groups, own):
            for chunk in _chunks(seeds, _seeds_per_job(config, experiment.name, alike)):
                yield Bundle(experiment.name, dict(outer), tuple(alike), chunk)


def _split_by_seeds(
    groups: list[Group], own: ExperimentConfig
) -> Iterator[tuple[list[Group], list[int]]]:
    """Yield all groups with the configured seeds, then the extra seeds of groups that have them.

    Added seeds therefore do not change the bundles of the configured seeds.
    """
    seeds = [own.seeds_of(group.axes) for group in groups]
    most, start = max(seeds, key=len), 0
    for end in sorted({len(most[: len(own.seeds)]), *map(len, seeds)}):
        have_them = [group for group, each in zip(groups, seeds, strict=True) if len(each) >= end]
        yield have_them, most[start:end]
        start = end


def _seeds_per_job(config: Config, experiment: str, groups: list[Group]) -> int:
    if config.job_minutes is None:
        return config.seeds_per_job
    seeds = 60 * config.job_minutes / _seconds_of_seed(experiment, groups)
    return max(1, int(min(seeds, MOST_SEEDS)))


def _shared_parameters(config: Config, own: ExperimentConfig, algorithm: str) -> dict[str, Any]:
    parameters = {"root_seed": config.root_seed, "settings": config.settings_of(algorithm)}
    if algorithm in config.variants:
        parameters["estimator"] = config.base_algorithm(algorithm)
    if own.metrics:
        parameters["metrics"] = own.metrics
    return parameters


def _device_parameter(
    config: Config, experiment: Experiment, settings: dict[str, Any], algorithm: str
) -> dict[str, str]:
    """Return the device if it is not the CPU; it is part of a cell because time depends on it."""
    if config.device == "cpu" or experiment.gpu == "none":
        return {}
    if experiment.gpu == "each":
        on_gpu = config.facts_of(algorithm).on_gpu
    else:
        from onlinefa.torch import batched  # imports PyTorch, which most plans do without

        on_gpu = batched.supports(algorithm, settings)
    return {"device": config.device} if on_gpu else {}


def _chunks(seeds: list[int], size: int) -> Iterator[tuple[int, ...]]:
    for start in range(0, len(seeds), size):
        yield tuple(seeds[start : start + size])
