"""Cells, groups and bundles.

A cell is one fit: the unit that is computed, stored and retried. A group is the cells that differ
in the seed alone. A bundle is the cells of one job. The digest of a cell covers everything that
determines its result. Results do not depend on how cells are divided into bundles.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from onlinefa_benchmark import algorithms, experiments, metrics
from onlinefa_benchmark.axes import AxisValue
from onlinefa_benchmark.fingerprint import code_digest

# Modules with which experiments are declared and drawn. A file that also computes imports them, but
# no result depends on them, so that they are not part of a cell's fingerprint.
NOT_COMPUTING = (
    "onlinefa_benchmark.axes",
    "onlinefa_benchmark.experiments.base",
    "onlinefa_benchmark.looks",
    "onlinefa_benchmark.metrics.base",
    "onlinefa_benchmark.plotting",
)


@dataclass(frozen=True)
class Cell:
    """One fit.

    Parameters
    ----------
    experiment : str
        Name of the experiment.
    axes : mapping
        Values of the axes (algorithm, D, K, ...), in the order of the path.
    seed : int
        Seed of all random numbers.
    parameters : mapping
        Everything else that determines the result: sample sizes, settings, the root seed, ...
    """

    experiment: str
    axes: Mapping[str, AxisValue]
    seed: int
    parameters: Mapping[str, Any]

    @property
    def algorithm(self) -> str:
        """Name of the algorithm, or of the variant of one."""
        return str(self.axes["algorithm"])

    @property
    def base_algorithm(self) -> str:
        """Name of the algorithm's file; for a variant, that of the algorithm behind it."""
        return str(self.parameters.get("estimator", self.algorithm))

    @property
    def device(self) -> str:
        """Configured device: ``cpu``, ``cuda`` or ``auto``."""
        return str(self.parameters.get("device", "cpu"))

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that the configuration adds."""
        return tuple(self.parameters.get("metrics", ()))

    def __str__(self) -> str:
        axes = ", ".join(f"{axis} {value}" for axis, value in self.axes.items())
        return f"{axes}, seed {self.seed}"

    @property
    def code(self) -> str:
        """Digest of the code that computes the cell."""
        return _code(self.code_modules)

    @property
    def code_modules(self) -> tuple[str, ...]:
        """Modules whose code, with all that it imports, computes the cell."""
        owner = experiments.load(self.experiment)
        is_batch = owner.gpu == "batch" and self.device != "cpu"
        computation = owner.computation_of(self.axes)
        return _code_modules(computation, self.base_algorithm, self.metrics, is_batch)

    def digest(self) -> str:
        """Return a digest of everything that determines the result, under which it is stored."""
        identity = [self.experiment, dict(self.axes), self.seed, dict(self.parameters), self.code]
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:32]


@cache  # thousands of cells share a few combinations of modules
def _code(modules: tuple[str, ...]) -> str:
    return code_digest(*modules, without=NOT_COMPUTING)


@cache
def _code_modules(
    computation: str, algorithm: str, additional: tuple[str, ...], is_batch: bool
) -> tuple[str, ...]:
    return (
        computation,
        algorithms.module_of(algorithm),
        "onlinefa_benchmark.threads",
        *map(metrics.module_of, additional),
        *(["onlinefa_benchmark.experiments._gpu_batch"] if is_batch else []),
    )


@dataclass(frozen=True)
class Group:
    """Cells that differ in the seed alone: standard errors are taken over them."""

    axes: Mapping[str, AxisValue]
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class Bundle:
    """The cells of one job.

    Parameters
    ----------
    experiment : str
        Name of the experiment.
    axes : mapping
        Axes that all of its cells share, in the order of the path.
    groups : tuple of Group
        Groups of its cells.
    seeds : tuple of int
        Seeds of its cells.
    """

    experiment: str
    axes: Mapping[str, AxisValue]
    groups: tuple[Group, ...]
    seeds: tuple[int, ...]

    @property
    def name(self) -> str:
        """Path of the job's results, without folder and suffix."""
        device = self.groups[0].parameters.get("device")
        shared = {"device": device, **self.axes} if device else self.axes
        levels = [self.experiment, *(f"{axis}~{value}" for axis, value in shared.items())]
        if len(self.seeds) == 1:
            return "/".join([*levels, f"seed~{self.seeds[0]}"])
        return "/".join([*levels, f"seeds~{self.seeds[0]}-{self.seeds[-1]}"])

    def cells(self) -> list[Cell]:
        """Return the cells seed by seed, so that cells that share networks follow one another."""
        return [
            Cell(self.experiment, group.axes, seed, group.parameters)
            for seed in self.seeds
            for group in self.groups
        ]

    @property
    def code(self) -> str:
        """Digests of the code that computes its cells."""
        one_of_each = Bundle(self.experiment, self.axes, self.groups, self.seeds[:1]).cells()
        return "-".join(sorted({cell.code for cell in one_of_each}))

    def digest(self) -> str:
        """Return a digest of everything that determines the results of the job."""
        identity = json.dumps([asdict(self), self.code], sort_keys=True)
        return hashlib.sha256(identity.encode()).hexdigest()[:32]
