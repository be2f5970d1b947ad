"""The typed configuration: what may be in a config, and what it means.

What an experiment is told is in the file of its chapter; what all share, in `base.py`. Here is what
a run as a whole is told.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from onlinefa import algorithms
from onlinefa.config.base import Count, Experiment, MoreSeeds, Positive, Seed, Strict
from onlinefa.config.gp import GP, Limit
from onlinefa.config.linear import Linear, Plane, Walking
from onlinefa.config.network import Digits, Network, Trained
from onlinefa.config.synthetic import Change, Scale, Synthetic
from onlinefa.names import needs_package

__all__ = [
    "EXPERIMENTS",
    "GP",
    "Change",
    "Config",
    "Count",
    "Digits",
    "Experiment",
    "Limit",
    "Linear",
    "MoreSeeds",
    "Network",
    "Plane",
    "Positive",
    "Scale",
    "Seed",
    "Synthetic",
    "Trained",
    "Variant",
    "Walking",
]

EXPERIMENTS: dict[str, type[Experiment]] = {
    "synthetic": Synthetic,
    "eigenvalues": Synthetic,
    "components": Synthetic,
    "scale": Scale,
    "change": Change,
    "linear": Linear,
    "plane": Plane,
    "gp": GP,
    "network": Network,
    "digits": Digits,
}


class Variant(BaseModel):
    """An algorithm with other settings, to be compared under a name of its own."""

    model_config = ConfigDict(extra="allow", frozen=True)

    algorithm: str

    @property
    def settings(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class Config(Strict):
    """Everything that a run of the workflow is told."""

    root_seed: Seed = Field(description="changes every random number of the benchmark")
    seeds_per_job: Count = Field(
        description="how many seeds one process fits; no result depends on it"
    )
    job_minutes: Positive | None = Field(
        default=None,
        description="instead of `seeds_per_job`: as many seeds as take about so long, for clusters",
    )
    device: Literal["cpu", "cuda", "auto"] = Field(
        default="cpu",
        description="`cuda`: networks, and algorithms that can fit the seeds of a job at once, on "
        "a GPU; `auto`: if there is one",
    )

    def settings_of(self, algorithm: str) -> dict[str, Any]:
        """All settings of an algorithm, or of a variant, the defaults among them."""
        variant = self.variants.get(algorithm)
        if variant is None:
            return algorithms.default_settings(algorithm) | self.settings.get(algorithm, {})
        return self.settings_of(variant.algorithm) | variant.settings

    @field_validator("device")
    @classmethod
    def _needs_pytorch(cls, device: str) -> str:
        if device != "cpu" and find_spec("torch") is None:
            raise ValueError(f"{device} {needs_package('PyTorch', 'networks')}")
        return device

    settings: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="settings of algorithms that differ from their defaults"
    )
    variants: dict[str, Variant] = Field(
        default_factory=dict,
        description="names for algorithms with other settings: `{name: {algorithm: ..., ...}}`",
    )
    data_dir: str | None = Field(
        default=None,
        description="a folder with tables of your own, relative to where you run snakemake",
    )

    @field_validator("data_dir")
    @classmethod
    def _can_be_a_path(cls, data_dir: str | None) -> str | None:
        if data_dir is not None and not data_dir.isprintable():
            raise ValueError(f"must have printable characters only, got {data_dir!r}")
        return data_dir

    synthetic: Synthetic | None = Field(
        default=None, description="chapter 5: synthetic factor models"
    )
    eigenvalues: Synthetic | None = Field(
        default=None, description="as `synthetic`, with models whose eigenvalues are s^2"
    )
    components: Synthetic | None = Field(
        default=None, description="as `synthetic`, for algorithms that choose K themselves"
    )
    scale: Scale | None = Field(
        default=None, description="as `synthetic`, with observations in other units"
    )
    change: Change | None = Field(
        default=None, description="as `synthetic`, with a model that is replaced on the way"
    )
    linear: Linear | None = Field(
        default=None, description="chapter 6: linear regression on UCI tables"
    )
    plane: Plane | None = Field(default=None, description="chapter 6 in two dimensions")
    gp: GP | None = Field(
        default=None, description="chapter 7: sampled networks and their Gaussian process"
    )
    network: Network | None = Field(
        default=None, description="MultiSWAG and others: networks on UCI tables"
    )
    digits: Digits | None = Field(
        default=None, description="the same with handwritten digits, in ten classes"
    )
