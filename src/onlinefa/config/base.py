"""What the experiments' configurations share: kinds of numbers, what all are told, checks."""

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

from onlinefa import estimators
from onlinefa.names import complaint, nearest, needs_package

MOST_SEEDS = 10_000  # a command line has to hold them

# Beyond, no fit would end, and the number of a network's weights would not fit into its column.
_MOST = 10**12


def _no_truth_value(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError(f"must be a number, got {value}")  # to Python, true is one
    return value


NumberOnly = BeforeValidator(_no_truth_value)
Count = Annotated[int, Field(strict=True, ge=1, le=_MOST)]
Several = Annotated[Count, Field(ge=2)]
Positive = Annotated[float, NumberOnly, Field(gt=0, allow_inf_nan=False)]
Seed = Annotated[int, Field(strict=True, ge=0, lt=2**32)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class MoreSeeds(Strict):
    """When a setting has enough seeds."""

    metric: str = Field(description="whose standard error counts, at the last step")
    error: Positive = Field(description="the largest standard error that will do")
    relative: bool = Field(default=False, description="whether that is a share of the mean")
    most: Annotated[Count, Field(le=MOST_SEEDS)] = Field(description="seeds of a setting")
    algorithms: list[str] | None = Field(
        default=None, min_length=1, description="only their standard errors count"
    )


class Experiment(Strict, ABC):
    """What all experiments are told."""

    algorithms: list[str] = Field(
        description="algorithms to compare, names of src/onlinefa/estimators or of `variants`"
    )
    seeds: list[Seed] = Field(description="a list of seeds, or their number n for 0 to n - 1")
    compared_with: str | None = Field(
        default=None, description="the algorithm that all others are tested against, seed by seed"
    )

    more_seeds: MoreSeeds | None = Field(
        default=None,
        description="`{metric: ..., error: ..., most: n}`: which settings `snakemake more_seeds` "
        "adds seeds to, as below",
    )
    seeds_by_setting: dict[str, Count] | None = Field(
        default=None,
        description="how many that has made of them so far; read from results/seeds.json only",
    )

    @abstractmethod
    def dimensions(self) -> list[int]:
        """The dimensions of its data."""

    def seeds_of(self, axes: Mapping[str, Any]) -> list[int]:
        """The seeds that an algorithm is tried with, somewhere."""
        number = (self.seeds_by_setting or {}).get(setting_of(axes), 0)
        return continued(self.seeds, number)[: self.seeds_allowed(axes)]

    def seeds_allowed(self, axes: Mapping[str, Any]) -> int | None:
        """How many seeds an algorithm may have somewhere at most; None if there is no limit."""
        return None

    @field_validator("seeds", mode="before")
    @classmethod
    def _number_of_seeds(cls, seeds: Any) -> Any:
        is_number = isinstance(seeds, int) and not isinstance(seeds, bool)
        number = seeds if is_number else len(seeds) if isinstance(seeds, list) else 0
        if number > MOST_SEEDS:  # which must not be made into a list first
            raise ValueError(f"are more than {MOST_SEEDS}")
        return list(range(seeds)) if is_number else seeds

    @field_validator("*")
    @classmethod
    def _not_empty_no_duplicates(cls, values: Any) -> Any:
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
    def _known(cls, algorithms: list[str], info: ValidationInfo) -> list[str]:
        variants = info.context  # a configuration that was checked before comes without
        if variants is not None:
            for name in algorithms:
                if text := complaint(name, cls.known_algorithms(), variants):
                    raise ValueError(text)
        return algorithms

    @field_validator("compared_with")
    @classmethod
    def _one_of_them(cls, compared_with: str | None, info: ValidationInfo) -> str | None:
        if compared_with is not None:
            check_known(compared_with, info.data.get("algorithms", [compared_with]))
        return compared_with

    @field_validator("more_seeds")
    @classmethod
    def _can_be_met(cls, more: MoreSeeds | None, info: ValidationInfo) -> MoreSeeds | None:
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
    def _is_decided(
        cls, numbers: dict[str, int] | None, info: ValidationInfo
    ) -> dict[str, int] | None:
        # As above: whoever writes a configuration has a context.
        if numbers is not None and info.context is not None:
            raise ValueError("cannot be given: `snakemake more_seeds` decides it")
        return numbers

    @classmethod
    def known_algorithms(cls) -> list[str]:
        """What it can compare."""
        return estimators.names()


class OfNetworks(Experiment):
    """What experiments with networks are told."""

    algorithms: list[str] = Field(
        description="posteriors to compare, names of src/onlinefa/posteriors, or algorithms that "
        "are fitted to SGD's walk, as elsewhere"
    )

    @field_validator("algorithms")
    @classmethod
    def _needs_pytorch(cls, algorithms: list[str]) -> list[str]:
        if find_spec("torch") is None:
            raise ValueError(needs_package("PyTorch", "networks"))
        return algorithms


def setting_of(axes: Mapping[str, Any]) -> str:
    """The name of what algorithms are compared in: D~100/K~10/spectrum~1-100."""
    return "/".join(f"{axis}~{value}" for axis, value in axes.items() if axis != "algorithm")


def continued(seeds: list[int], number: int) -> list[int]:
    """The seeds, and the next integers after the largest of them, until there are so many."""
    return [*seeds, *islice(count(max(seeds) + 1), max(0, number - len(seeds)))]


def weights(inputs: int, width: int, outputs: int = 1) -> int:
    """Of a network: for each unit one per input, its bias and what leads on; the last biases."""
    return width * (inputs + 1 + outputs) + outputs


def check_below(K: list[int], D: dict[str, int]) -> list[int]:
    """Every K must be below every D; `D` has them by what a message says of them."""
    if D:
        name, smallest = min(D.items(), key=lambda item: item[1])
        if max(K) >= smallest:
            raise ValueError(f"{max(K)} must be below every D, and {name}")
    return K


def check_known(name: str, allowed: list[str]) -> None:
    if name not in allowed:
        raise ValueError(f"unknown name '{name}'{nearest(name, allowed)}")
