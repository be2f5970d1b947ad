"""The checked configuration of a run.

The keys of an experiment are declared by the experiment itself (`Experiment.Config`); the keys of a
run as a whole are declared here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    create_model,
    field_validator,
)

from onlinefa_benchmark import algorithms, experiments
from onlinefa_benchmark.algorithms import AlgorithmFacts
from onlinefa_benchmark.experiments.base import (
    Count,
    ExperimentConfig,
    Positive,
    Seed,
    Strict,
)
from onlinefa_benchmark.suggestions import needs_extra


class Variant(BaseModel):
    """An algorithm with other settings, which has its own name in comparisons."""

    model_config = ConfigDict(extra="allow", frozen=True)

    algorithm: str

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that differ from those of the algorithm."""
        return dict(self.model_extra or {})


class Config(Strict):
    """The configuration of a run, without its experiments.

    `config_model` returns the complete model, which has a field for each experiment.
    """

    root_seed: Seed = Field(description="changes every random number of the benchmark")
    seeds_per_job: Count = Field(
        description="number of seeds that one process fits; no result depends on it"
    )
    job_minutes: Positive | None = Field(
        default=None,
        description="instead of `seeds_per_job`, for clusters: as many seeds as take about this "
        "long",
    )
    device: Literal["cpu", "cuda", "auto"] = Field(
        default="cpu",
        description="`cuda`: networks, and algorithms that can fit the seeds of a job at once, run "
        "on a GPU; `auto`: if there is one",
    )
    settings: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="settings of algorithms that differ from their defaults"
    )
    variants: dict[str, Variant] = Field(
        default_factory=dict,
        description="names for algorithms with other settings: `{name: {algorithm: ..., ...}}`",
    )
    data_dir: str | None = Field(
        default=None,
        description="folder with tables of your own, relative to where you run snakemake",
    )
    # Filled if the configuration was read from a checked file.
    _facts: dict[str, AlgorithmFacts] = PrivateAttr(default_factory=dict)

    @field_validator("device")
    @classmethod
    def _check_pytorch(cls, device: str) -> str:
        if device != "cpu" and find_spec("torch") is None:
            raise ValueError(f"{device} {needs_extra('PyTorch', 'torch')}")
        return device

    @field_validator("data_dir")
    @classmethod
    def _check_path(cls, data_dir: str | None) -> str | None:
        if data_dir is not None and not data_dir.isprintable():
            raise ValueError(f"must have printable characters only, got {data_dir!r}")
        return data_dir

    def experiment(self, name: str) -> ExperimentConfig | None:
        """Return the configuration of an experiment; None if it is not configured."""
        found: ExperimentConfig | None = getattr(self, name)
        return found

    @property
    def experiments(self) -> dict[str, ExperimentConfig]:
        """The configured experiments, in the order in which readers see them."""
        found = {name: self.experiment(name) for name in experiments.names()}
        return {name: config for name, config in found.items() if config is not None}

    def base_algorithm(self, name: str) -> str:
        """Return the algorithm behind the name of a variant, or the name itself."""
        variant = self.variants.get(name)
        return variant.algorithm if variant else name

    def facts_of(self, name: str) -> AlgorithmFacts:
        """Return the facts of an algorithm, or of the one behind a variant."""
        base = self.base_algorithm(name)
        return self._facts.get(base) or algorithms.read_facts(base)

    def with_facts(self, facts: Mapping[str, AlgorithmFacts]) -> Self:
        """Return the configuration with the facts of its algorithms."""
        config = self.model_copy()
        config._facts = dict(facts)
        return config

    def all_facts(self) -> dict[str, AlgorithmFacts]:
        """Return the facts of all algorithms that are compared."""
        compared = (name for own in self.experiments.values() for name in own.algorithms)
        return {base: self.facts_of(base) for base in sorted(map(self.base_algorithm, compared))}

    def settings_of(self, name: str) -> dict[str, Any]:
        """Return all settings of an algorithm or variant, including defaults."""
        variant = self.variants.get(name)
        if variant is None:
            return self.facts_of(name).default_settings | self.settings.get(name, {})
        return self.settings_of(variant.algorithm) | variant.settings

    def references(self, experiment: str) -> set[str]:
        """Return the reference algorithms of an experiment, which are never ranked."""
        config = self.experiment(experiment)
        return {
            name
            for name in (config.algorithms if config else ())
            if self.facts_of(name).is_reference
        }

    def digest(self, names: Iterable[str] | None = None) -> str:
        """Return a digest of what determines the results of some experiments, by default of all.

        It does not cover `data_dir`, because the values of tables are pinned, nor `more_seeds`,
        which determines when seeds are added but not their results.
        """
        names = list(self.experiments if names is None else names)
        part = self.model_dump(mode="json", exclude={"data_dir", *experiments.names()})
        for name in names:
            config = self.experiment(name)
            part[name] = config and config.model_dump(mode="json", exclude={"more_seeds"})
        return hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()[:32]


@cache
def config_model() -> type[Config]:
    """Return the model of a complete configuration, with a field for each experiment."""
    fields: dict[str, Any] = {}
    for name in experiments.names():
        experiment = experiments.load(name)
        fields[name] = (
            experiment.Config | None,
            Field(default=None, description=experiment.description),
        )
    return create_model("Config", __base__=Config, **fields)
