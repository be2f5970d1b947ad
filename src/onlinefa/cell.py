"""A cell is one fit: the unit of truth. A bundle is the cells of one job.

A cell has a digest of everything that decides its result. How cells are bundled decides nothing but
how many processes are started.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from onlinefa import algorithms, experiments
from onlinefa.digest import code_digest

Axis = str | int | float


@dataclass(frozen=True)
class Cell:
    """One fit."""

    experiment: str
    axes: Mapping[str, Axis]
    """Algorithm, D, K, ...: what is compared, in the order of the path."""
    seed: int
    parameters: Mapping[str, Any]
    """Whatever else decides the result: sample sizes, the algorithm's settings, the root seed."""

    @property
    def algorithm(self) -> str:
        return str(self.axes["algorithm"])

    @property
    def estimator(self) -> str:
        """The algorithm's file; not its name, if it is a variant that the configuration defines."""
        return str(self.parameters.get("estimator", self.algorithm))

    @property
    def device(self) -> str:
        """What the configuration asks for: `cpu`, `cuda` or `auto`."""
        return str(self.parameters.get("device", "cpu"))

    def __str__(self) -> str:
        axes = ", ".join(f"{axis} {value}" for axis, value in self.axes.items())
        return f"{axes}, seed {self.seed}"

    @property
    def code(self) -> str:
        """Digest of the source that its experiment and its algorithm import."""
        return _code(self.experiment, self.estimator, self.device != "cpu")

    def digest(self) -> str:
        """A name for the result: the same whenever it would come out the same."""
        identity = [self.experiment, dict(self.axes), self.seed, dict(self.parameters), self.code]
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:32]


@cache  # of ten thousand cells, all but a few have been asked for already
def _code(experiment: str, estimator: str, on_gpu: bool) -> str:
    modules = [experiments.module_of(experiment), algorithms.module_of(estimator)]
    return code_digest(*modules, *(["onlinefa.experiments.together"] if on_gpu else []))


@dataclass(frozen=True)
class Group:
    """Cells that differ in the seed alone: what standard errors are taken over."""

    axes: Mapping[str, Axis]
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class Bundle:
    """The cells of one job: some groups, for some seeds."""

    experiment: str
    axes: Mapping[str, Axis]
    """What all of its cells share and those of no other bundle do, in the order of the path."""
    groups: tuple[Group, ...]
    seeds: tuple[int, ...]

    @property
    def name(self) -> str:
        """The path of its results, without folder and suffix."""
        device = self.groups[0].parameters.get("device")
        shared = {"device": device, **self.axes} if device else self.axes
        levels = [self.experiment, *(f"{axis}~{value}" for axis, value in shared.items())]
        if len(self.seeds) == 1:
            return "/".join([*levels, f"seed~{self.seeds[0]}"])
        return "/".join([*levels, f"seeds~{self.seeds[0]}-{self.seeds[-1]}"])

    def cells(self) -> list[Cell]:
        """One seed after the other: what its cells share is then at hand."""
        return [
            Cell(self.experiment, group.axes, seed, group.parameters)
            for seed in self.seeds
            for group in self.groups
        ]

    @property
    def code(self) -> str:
        """Digest of the source that its cells import."""
        one_of_each = Bundle(self.experiment, self.axes, self.groups, self.seeds[:1]).cells()
        return "-".join(sorted({cell.code for cell in one_of_each}))

    def to_json(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Bundle:
        fields = json.loads(text)
        groups = tuple(Group(**group) for group in fields["groups"])
        return cls(**fields | {"groups": groups, "seeds": tuple(fields["seeds"])})
