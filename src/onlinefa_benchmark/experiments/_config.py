"""Configuration models that experiments share: kinds of numbers, common keys, checks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from importlib.util import find_spec
from itertools import count, islice
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
)

from onlinefa_benchmark import algorithms
from onlinefa_benchmark.suggestions import nearest, needs_extra

MOST_SEEDS = 10_000

# With more, no fit would end, and the number of a network's weights would not fit its column.
_MOST = 10**12


def _refuse_bool(value: Any) -> Any:
    if isinstance(value, bool):  # a subclass of int
        raise ValueError(f"must be a number, got {value}")
    return value


NumberOnly = BeforeValidator(_refuse_bool)
Count = Annotated[int, Field(strict=True, ge=1, le=_MOST)]
Several = Annotated[Count, Field(ge=2)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False), NumberOnly]
Seed = Annotated[int, Field(strict=True, ge=0, lt=2**32)]


class Strict(BaseModel):
    """A model that refuses unknown keys and cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class MoreSeeds(Strict):
    """Rule that decides when a setting has enough seeds."""

    metric: str = Field(description="metric whose standard error counts, at the last step")
    error: Positive = Field(description="largest standard error that is accepted")
    relative: bool = Field(default=False, description="whether `error` is a fraction of the mean")
    most: Annotated[Count, Field(le=MOST_SEEDS)] = Field(description="most seeds of a setting")
    algorithms: list[str] | None = Field(
        default=None,
        min_length=1,
        description="algorithms whose standard errors count; default: all",
    )


class ExperimentConfig(Strict, ABC):
    """The keys that all experiments have."""

    algorithms: list[str] = Field(
        description="algorithms to compare: files of src/onlinefa/estimators, or `variants`"
    )
    seeds: list[Seed] = Field(description="list of seeds, or their number n for 0 to n - 1")
    compared_with: str | None = Field(
        default=None, description="algorithm that all others are tested against, seed by seed"
    )
    compared_algorithms: list[str] | None = Field(
        default=None,
        description="algorithms that are tested against `compared_with`, over which p is adjusted; "
        "default: all",
    )
    metrics: list[str] | None = Field(
        default=None,
        description="additional metrics: files of src/onlinefa_benchmark/metrics",
    )
    more_seeds: MoreSeeds | None = Field(
        default=None,
        description="`{metric: ..., error: ..., most: n}`: settings to which `snakemake "
        "more_seeds` adds seeds, see below",
    )
    seeds_by_setting: dict[str, Count] | None = Field(
        default=None,
        description="numbers of seeds that `more_seeds` has decided on; read from "
        "results/seeds.json only",
    )

    @abstractmethod
    def dimensions(self) -> list[int]:
        """Return the dimensions of the data."""

    def seeds_of(self, axes: Mapping[str, Any]) -> list[int]:
        """Return the seeds of a group of cells."""
        number = (self.seeds_by_setting or {}).get(setting_name(axes), 0)
        return continue_seeds(self.seeds, number)[: self.seeds_allowed(axes)]

    def seeds_allowed(self, axes: Mapping[str, Any]) -> int | None:
        """Return the largest number of seeds of a group; None if there is no limit."""
        return None

    @field_validator("seeds", mode="before")
    @classmethod
    def _expand_number(cls, seeds: Any) -> Any:
        is_number = isinstance(seeds, int) and not isinstance(seeds, bool)
        number = seeds if is_number else len(seeds) if isinstance(seeds, list) else 0
        if number > MOST_SEEDS:  # checked before a list of them is made
            raise ValueError(f"are more than {MOST_SEEDS}")
        return list(range(seeds)) if is_number else seeds

    @field_validator("*")
    @classmethod
    def _refuse_empty_and_duplicates(cls, values: Any) -> Any:
        if not isinstance(values, list | dict):
            return values
        if not values:
            raise ValueError("is empty, so there is nothing to run")
        times = Counter(list(values))
        repeated = sorted(str(value) for value in times if times[value] > 1)
        if repeated:
            raise ValueError(f"has {repeated[0]} more than once")
        return values

    @field_validator("algorithms")
    @classmethod
    def _check_algorithms(cls, names: list[str], info: ValidationInfo) -> list[str]:
        variants = info.context  # None if a configuration is read that was checked before
        if variants is not None:
            known = cls.known_algorithms()
            for name in names:
                if text := algorithms.find_problem(name, known, variants):
                    raise ValueError(text)
        return names

    @field_validator("compared_with")
    @classmethod
    def _check_compared_with(cls, compared_with: str | None, info: ValidationInfo) -> str | None:
        if compared_with is not None:
            check_known(compared_with, info.data.get("algorithms", [compared_with]))
        return compared_with

    @field_validator("compared_algorithms")
    @classmethod
    def _check_compared_algorithms(
        cls, names: list[str] | None, info: ValidationInfo
    ) -> list[str] | None:
        baseline = info.data.get("compared_with")
        if names and baseline is None:
            raise ValueError("needs `compared_with`")
        for name in names or []:
            check_known(name, info.data.get("algorithms", [name]))
            if name == baseline:
                raise ValueError(f"{name} is `compared_with` itself")
        return names

    @field_validator("more_seeds")
    @classmethod
    def _check_more_seeds(cls, more: MoreSeeds | None, info: ValidationInfo) -> MoreSeeds | None:
        if more is None:
            return more
        number = len(info.data.get("seeds", []))
        if more.most < number:
            raise ValueError(f"most ({more.most}) is below the number of seeds, {number}")
        for name in more.algorithms or []:
            check_known(name, info.data.get("algorithms", [name]))
        return more

    @field_validator("seeds_by_setting")
    @classmethod
    def _refuse_seeds_by_setting(
        cls, numbers: dict[str, int] | None, info: ValidationInfo
    ) -> dict[str, int] | None:
        # Only a configuration that a user has written has a context.
        if numbers is not None and info.context is not None:
            raise ValueError("cannot be given: `snakemake more_seeds` decides it")
        return numbers

    @classmethod
    def known_algorithms(cls) -> list[str]:
        """Return the algorithms that the experiment can compare."""
        return algorithms.estimator_names()


class NetworkExperimentConfig(ExperimentConfig):
    """The keys that experiments with networks have."""

    algorithms: list[str] = Field(
        description="posteriors to compare: files of src/onlinefa_benchmark/posteriors, or "
        "estimators, which are fitted to SGD's walk"
    )

    @field_validator("algorithms")
    @classmethod
    def _check_pytorch(cls, names: list[str]) -> list[str]:
        if find_spec("torch") is None:
            raise ValueError(needs_extra("PyTorch", "torch"))
        return names


def setting_name(axes: Mapping[str, Any]) -> str:
    """Return the name of a setting, such as ``D~100/K~10/spectrum~1-100``."""
    return "/".join(f"{axis}~{value}" for axis, value in axes.items() if axis != "algorithm")


def continue_seeds(seeds: list[int], number: int) -> list[int]:
    """Return the seeds, followed by the next integers until there are `number` of them."""
    return [*seeds, *islice(count(max(seeds) + 1), max(0, number - len(seeds)))]


def count_weights(inputs: int, width: int, outputs: int = 1) -> int:
    """Return the number of weights of a network with one hidden layer.

    Each unit has a weight per input, a bias and a weight per output; each output has a bias.
    """
    return width * (inputs + 1 + outputs) + outputs


def check_below(K: list[int], D: dict[str, int]) -> list[int]:
    """Check that every K is below every D; the keys of `D` are used in the error message."""
    if D:
        name, smallest = min(D.items(), key=lambda item: item[1])
        if max(K) >= smallest:
            raise ValueError(f"{max(K)} must be below every D, and {name}")
    return K


def check_known(name: str, allowed: list[str], kind: str = "name") -> None:
    """Check that a name is one of those allowed."""
    if name not in allowed:
        raise ValueError(f"unknown {kind} '{name}'{nearest(name, allowed)}")
