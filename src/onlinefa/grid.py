"""From a configuration to the list of jobs, each a bundle of cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from onlinefa import data, estimators, posteriors
from onlinefa.cell import Axis, Bundle, Group
from onlinefa.config import (
    GP,
    Change,
    Config,
    Digits,
    Experiment,
    Linear,
    Network,
    Plane,
    Scale,
    Synthetic,
    Trained,
    Walking,
)
from onlinefa.config.base import MOST_SEEDS
from onlinefa.cost import seconds_of_seed

Axes = dict[str, Axis]
Groups = Iterator[tuple[Axes, dict[str, Any]]]
"""The axes of each group of cells, and the parameters that its experiment adds."""

# What the path of a job names. The other axes are inside of it: a cell of theirs takes a second or
# two, and so does the start of a process.
_OUTER: dict[str, list[str]] = {"linear": ["algorithm"], "plane": [], "gp": ["dataset"],
    "network": ["dataset"], "digits": [],
}  # fmt: skip
_OUTER_OF_SYNTHETIC = ["algorithm", "D", "K"]
_OUTER_OF_SLOW = ["dataset", "algorithm", "width"]  # of which a cell takes minutes


def bundles(config: Config) -> list[Bundle]:
    """All jobs of a configuration."""
    experiments: dict[str, Callable[[Any], Groups]] = {
        "synthetic": _synthetic,
        "eigenvalues": _eigenvalues,
        "components": _synthetic,
        "scale": _scale,
        "change": _change,
        "linear": _linear,
        "plane": _plane,
        "gp": _gp,
        "network": _network,
        "digits": _digits,
    }
    return [
        bundle
        for experiment, groups_of in experiments.items()
        if (grid := getattr(config, experiment)) is not None
        for bundle in _bundled(experiment, groups_of(grid), grid, config)
    ]


def _bundled(experiment: str, groups: Groups, grid: Experiment, config: Config) -> Iterator[Bundle]:
    jobs: dict[tuple[tuple[str, Axis], ...], list[Group]] = {}
    for axes, parameters in groups:
        algorithm = str(axes["algorithm"])
        own = _shared(config, algorithm)
        base = str(own.get("estimator", algorithm))
        if isinstance(grid, GP):
            own |= _of_networks(grid, base)
        device = _device(config, experiment, own, base)
        group = Group(axes, own | device | parameters)
        names = _OUTER.get(experiment, _OUTER_OF_SYNTHETIC)
        if isinstance(grid, GP) and (base == "nuts" or grid.limit(algorithm).seeds):
            names = _OUTER_OF_SLOW
        jobs.setdefault(tuple((name, axes[name]) for name in names), []).append(group)
    for outer, inside in jobs.items():
        for alike, seeds in _by_seeds(inside, grid):
            for chunk in _chunks(seeds, _seeds_per_job(config, experiment, alike)):
                yield Bundle(experiment, dict(outer), tuple(alike), chunk)


def _by_seeds(groups: list[Group], grid: Experiment) -> Iterator[tuple[list[Group], list[int]]]:
    """All groups with the configured seeds, then those that have more with what they have more.

    So that bundles of configured seeds stay as they are, whatever is added to whom.
    """
    seeds = [grid.seeds_of(group.axes) for group in groups]
    most, start = max(seeds, key=len), 0
    for end in sorted({len(most[: len(grid.seeds)]), *map(len, seeds)}):
        has_them = [group for group, own in zip(groups, seeds, strict=True) if len(own) >= end]
        yield has_them, most[start:end]
        start = end


def datasets_of(bundle: Bundle) -> list[str]:
    """The tables that a bundle's cells read; none if they make up their own data."""
    if bundle.experiment not in ("linear", "gp", "network"):
        return []
    return sorted({str(group.axes["dataset"]) for group in bundle.groups} - {"toy"})


def _seeds_per_job(config: Config, experiment: str, groups: list[Group]) -> int:
    if config.job_minutes is None:
        return config.seeds_per_job
    seeds = 60 * config.job_minutes / seconds_of_seed(experiment, groups)
    return max(1, int(min(seeds, MOST_SEEDS)))


def _shared(config: Config, algorithm: str) -> dict[str, Any]:
    own = {"root_seed": config.root_seed, "settings": config.settings_of(algorithm)}
    variant = config.variants.get(algorithm)
    return own | ({"estimator": variant.algorithm} if variant else {})


def _of_networks(grid: GP, algorithm: str) -> dict[str, Any]:
    """What decides a posterior of networks, and no more: chains, say, know nothing of SGD."""
    walks = algorithm in estimators.names() or posteriors.is_stochastic(algorithm)
    names = ["iterations"] if walks or posteriors.is_trained(algorithm) else []
    names += ["learning_rate", "batch", "warm_up", "epochs", "every"] if walks else []
    training = {"training": {name: getattr(grid, name) for name in names}}
    return training | ({"samples": grid.samples} if walks else {})


def _device(config: Config, experiment: str, own: dict[str, Any], algorithm: str) -> dict[str, str]:
    """Where cells are fitted, if not on the CPU; part of what they are: time depends on it."""
    # Linear regressions have a dozen weights, with which no GPU has anything to do.
    if config.device == "cpu" or experiment in ("linear", "plane") or algorithm == "nuts":
        return {}
    if experiment in ("gp", "network", "digits"):
        return {"device": config.device}
    from onlinefa import batched  # which imports PyTorch, and most plans do without

    supported = batched.supports(algorithm, own["settings"])
    return {"device": config.device} if supported else {}


def _synthetic(grid: Synthetic) -> Groups:
    for algorithm, D, K, (low, high) in product(grid.algorithms, grid.D, grid.K, grid.spectrum):
        axes: Axes = {"algorithm": algorithm, "D": D, "K": K, "spectrum": f"{low}-{high}"}
        yield axes, {"dataset": "algorithm_3", "spectrum": [low, high], "T": grid.T}


def _eigenvalues(grid: Synthetic) -> Groups:
    for axes, parameters in _synthetic(grid):
        yield axes, parameters | {"dataset": "eigenvalues"}


def _scale(grid: Scale) -> Groups:
    for (axes, parameters), scale in product(_synthetic(grid), grid.scales):
        yield axes | {"scale": scale}, parameters


def _change(grid: Change) -> Groups:
    for axes, parameters in _synthetic(grid):
        yield axes, parameters | {"change_at": grid.change_at}


def _linear(grid: Linear) -> Groups:
    for dataset, algorithm, walk, K in product(grid.datasets, grid.algorithms, grid.walks, grid.K):
        table = data.table(dataset)
        axes: Axes = {"dataset": dataset, "D": table.dimension, "algorithm": algorithm}
        own = {"learning_rate": grid.learning_rate, "table": table.digest}
        yield axes | {"walk": walk, "K": K}, _walking(grid) | own


def _gp(grid: GP) -> Groups:
    for dataset, width, algorithm in product(grid.datasets, grid.widths, grid.algorithms):
        if grid.limit(algorithm).allows(dataset, width):
            axes: Axes = {"dataset": dataset, "width": width, "D": grid.weights(dataset, width)}
            table = {} if dataset == "toy" else {"table": data.table(dataset).digest}
            yield axes | {"K": grid.K, "algorithm": algorithm}, table


def _network(grid: Network) -> Groups:
    for dataset, algorithm in product(grid.datasets, grid.algorithms):
        axes: Axes = {"dataset": dataset, "width": grid.width, "D": grid.weights(dataset)}
        table = {"table": data.table(dataset).digest}
        yield axes | {"K": grid.K, "algorithm": algorithm}, table | _trained(grid)


def _digits(grid: Digits) -> Groups:
    for algorithm in grid.algorithms:
        axes: Axes = {"dataset": "digits", "width": grid.width, "D": grid.weights()}
        yield axes | {"K": grid.K, "algorithm": algorithm}, _trained(grid)


def _trained(grid: Trained) -> dict[str, Any]:
    """All networks are trained at once, and so all that is told decides every cell."""
    names = (
        "width", "candidates", "runs", "batch", "steps", "learning_rate", "walk", "every",
    )  # fmt: skip
    training = {name: getattr(grid, name) for name in names}
    return {"training": training, "samples": grid.samples}


def _plane(grid: Plane) -> Groups:
    for algorithm, rate in product(grid.algorithms, grid.rates):
        axes: Axes = {
            "dataset": "plane",
            "D": 2,
            "K": 1,
            "algorithm": algorithm,
            "walk": f"{rate:g}",
        }
        yield axes, _walking(grid)


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
