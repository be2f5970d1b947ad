"""The typed configuration. Whatever is wrong with a config is said before any job starts."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from onlinefa import data, estimators
from onlinefa.models.sgd_walk import WalkName

Count = Annotated[int, Field(strict=True, ge=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Seed = Annotated[int, Field(strict=True, ge=0)]
Place = tuple[str | int, ...]  # of a value in nested mappings and lists


class ConfigError(ValueError):
    """What is wrong with a configuration, one line for each mistake."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Experiment(_Strict):
    """What all experiments are told."""

    algorithms: list[str] = Field(
        description="algorithms to compare, names of src/onlinefa/estimators or of `variants`"
    )
    seeds: list[Seed] = Field(description="a list of seeds, or their number n for 0 to n - 1")

    def dimensions(self) -> list[int]:
        """The dimensions of its data."""
        raise NotImplementedError

    @field_validator("seeds", mode="before")
    @classmethod
    def _number_of_seeds(cls, seeds: Any) -> Any:
        is_number = isinstance(seeds, int) and not isinstance(seeds, bool)
        return list(range(seeds)) if is_number else seeds

    @field_validator("*")
    @classmethod
    def _not_empty_no_duplicates(cls, values: Any) -> Any:
        if not isinstance(values, list | dict):
            return values
        if not values:
            raise ValueError("is empty, so there is nothing to run")
        items = list(values)
        repeated = sorted({str(value) for value in items if items.count(value) > 1})
        if repeated:
            raise ValueError(f"has {repeated[0]} more than once")
        return values

    @field_validator("algorithms")
    @classmethod
    def _known(cls, algorithms: list[str], info: ValidationInfo) -> list[str]:
        variants = info.context  # a configuration that was checked before comes without
        if variants is not None:
            for complaint in filter(None, (_complaint(name, variants) for name in algorithms)):
                raise ValueError(complaint)
        return algorithms


def _check_below(K: list[int], D: dict[str, int]) -> list[int]:
    """Every K must be below every D; `D` has them by what a message says of them."""
    if D:
        name, smallest = min(D.items(), key=lambda item: item[1])
        if max(K) >= smallest:
            raise ValueError(f"{max(K)} must be below every D, and {name}")
    return K


class Synthetic(Experiment):
    """Chapter 5: synthetic factor models."""

    D: list[Count] = Field(description="observation dimensions")
    K: list[Count] = Field(description="latent dimensions, each below each D")
    spectrum: list[tuple[Count, Count]] = Field(
        description="ranges [low, high] of s^2 in Algorithm 3"
    )
    T: list[Count] = Field(description="sample sizes at which a fit is measured, increasing")

    def dimensions(self) -> list[int]:
        return self.D

    @field_validator("K")
    @classmethod
    def _below_every_dimension(cls, K: list[int], info: ValidationInfo) -> list[int]:
        return _check_below(K, {f"D has {D}": D for D in info.data.get("D", [])})

    @field_validator("spectrum")
    @classmethod
    def _low_below_high(cls, spectrum: list[tuple[int, int]]) -> list[tuple[int, int]]:
        for low, high in spectrum:
            if low >= high:
                raise ValueError(f"[{low}, {high}] must have its low below its high")
        return spectrum

    @field_validator("T")
    @classmethod
    def _increasing(cls, T: list[int]) -> list[int]:
        for before, after in pairwise(T):
            if after <= before:
                raise ValueError(f"must be increasing, and {after} follows {before}")
        return T


class Scale(Synthetic):
    """Chapter 5 in other units."""

    scales: list[Positive] = Field(description="numbers that all observations are multiplied by")


class Change(Synthetic):
    """Chapter 5 with a model that is replaced on the way."""

    change_at: Count = Field(description="observations of the first model, fewer than the last T")

    @field_validator("change_at")
    @classmethod
    def _on_the_way(cls, change_at: int, info: ValidationInfo) -> int:
        T = info.data.get("T")
        if T and change_at >= T[-1]:
            raise ValueError(f"{change_at} must be below the last T, {T[-1]}")
        return change_at


class Walking(Experiment):
    """What experiments that follow SGD are told."""

    batch: Count = Field(description="rows of the table in a step of SGD")
    warm_up: Count = Field(description="epochs before the first weights are observed")
    every: Count = Field(
        description="epochs between two measurements; ten times as many for batch algorithms"
    )
    epochs: Count = Field(description="epochs of a walk, the warm-up among them")

    @field_validator("epochs")
    @classmethod
    def _whole_measurements(cls, epochs: int, info: ValidationInfo) -> int:
        warm_up, every = info.data.get("warm_up"), info.data.get("every")
        if warm_up and every and (epochs <= warm_up or (epochs - warm_up) % every):
            raise ValueError(
                f"{epochs} must be warm_up ({warm_up}) plus 1, 2, ... times every ({every})"
            )
        return epochs


class Linear(Walking):
    """Chapter 6: linear regression on UCI tables."""

    datasets: list[str] = Field(description="tables, names of src/onlinefa/data")
    K: list[Count] = Field(description="latent dimensions, each below each table's weights")
    walks: list[WalkName] = Field(
        description="batches reshuffled every epoch or drawn with replacement; `_averaged`: means "
        "over epochs"
    )
    learning_rate: Positive = Field(
        description="of SGD; Table 6.1 has the rates from which on it diverges"
    )

    def dimensions(self) -> list[int]:
        return [data.table(name).dimension for name in self.datasets]

    @field_validator("datasets")
    @classmethod
    def _known_tables(cls, datasets: list[str]) -> list[str]:
        for name in datasets:
            if name not in data.names():
                raise ValueError(f"unknown dataset '{name}'{_nearest(name, data.names())}")
        return datasets

    @field_validator("datasets")
    @classmethod
    def _larger_than_a_batch(cls, datasets: list[str], info: ValidationInfo) -> list[str]:
        batch = info.data.get("batch", 1)
        for name in datasets:
            if data.table(name).rows < batch:
                raise ValueError(
                    f"{name} has {data.table(name).rows} rows, fewer than a batch ({batch})"
                )
        return datasets

    @field_validator("K")
    @classmethod
    def _below_every_dimension(cls, K: list[int], info: ValidationInfo) -> list[int]:
        D = {name: data.table(name).dimension for name in info.data.get("datasets", [])}
        return _check_below(K, {f"{name} has {D[name]} weights": D[name] for name in D})


class Plane(Walking):
    """Chapter 6 in two dimensions, to be drawn."""

    rates: list[Positive] = Field(description="learning rates of SGD, a panel for each")

    def dimensions(self) -> list[int]:
        return [2]

    @field_validator("seeds")
    @classmethod
    def _one_walk(cls, seeds: list[int]) -> list[int]:
        if len(seeds) > 1:
            raise ValueError("must be one: every seed has a table of its own, and one is drawn")
        return seeds


EXPERIMENTS: dict[str, type[Experiment]] = {
    "synthetic": Synthetic,
    "eigenvalues": Synthetic,
    "components": Synthetic,
    "scale": Scale,
    "change": Change,
    "linear": Linear,
    "plane": Plane,
}


class Variant(BaseModel):
    """An algorithm with other settings, to be compared under a name of its own."""

    model_config = ConfigDict(extra="allow", frozen=True)

    algorithm: str

    @property
    def settings(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class Config(_Strict):
    """Everything that a run of the workflow is told."""

    root_seed: Seed = Field(description="changes every random number of the benchmark")
    seeds_per_job: Count = Field(
        description="how many seeds one process fits; no result depends on it"
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
        description="a folder with tables of your own, relative to where you run snakemake",
    )
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


def validate(values: dict[str, Any], files: Sequence[str] = ()) -> Config:
    """The typed configuration, or a ConfigError that names file, key and what is allowed.

    `files` are those that were merged into `values`, each on top of the one before.
    """
    mistakes: list[tuple[Place, str]] = []
    try:
        config = Config.model_validate(values, context=list(values.get("variants") or ()))
        mistakes += [*_wrong_settings(config), *_wrong_variants(config)]
    except ValidationError as error:
        mistakes += [(mistake["loc"], _message(mistake)) for mistake in error.errors()]
    if mistakes:
        lines = [
            f"{_source(place, values, files)}: {_key(place)}: {text}" for place, text in mistakes
        ]
        raise ConfigError("\n".join(lines))
    if all(getattr(config, name) is None for name in EXPERIMENTS):
        file = _source((), None, files)
        raise ConfigError(f"{file}: has none of {', '.join(EXPERIMENTS)}: there is nothing to run")
    return config


def _complaint(algorithm: str, variants: Iterable[str] = ()) -> str | None:
    """What is wrong with an algorithm's name, or with the file of that name."""
    if algorithm in variants:
        return None
    if algorithm not in estimators.names():
        known = [*estimators.names(), *variants]
        return f"unknown algorithm '{algorithm}'{_nearest(algorithm, known)}"
    try:
        estimators.default_settings(algorithm)
    except estimators.BadAlgorithm as error:
        return str(error)
    return None


def _wrong_settings(config: Config) -> Iterator[tuple[Place, str]]:
    for algorithm, values in config.settings.items():
        if complaint := _complaint(algorithm):
            yield ("settings", algorithm), complaint
        else:
            defaults = estimators.default_settings(algorithm)
            for name, text in _wrong_values(algorithm, values, defaults):
                yield ("settings", algorithm, name), text


def _wrong_variants(config: Config) -> Iterator[tuple[Place, str]]:
    for variant, value in config.variants.items():
        if variant in estimators.names():
            yield ("variants", variant), "is an algorithm; a variant needs a name of its own"
        elif not re.fullmatch("[a-z][a-z0-9_]*", variant):
            yield ("variants", variant), "must have small letters, digits and _ only"
        elif complaint := _complaint(value.algorithm):
            yield ("variants", variant, "algorithm"), complaint
        else:
            # What an experiment would choose may be chosen here as well: the number of factors.
            allowed = estimators.default_settings(value.algorithm) | {"n_components": ...}
            for name, text in _wrong_values(value.algorithm, value.settings, allowed):
                yield ("variants", variant, name), text
            yield from _too_many_components(config, variant, value)


def _too_many_components(
    config: Config, variant: str, value: Variant
) -> Iterator[tuple[Place, str]]:
    K = value.settings.get("n_components")
    for name in EXPERIMENTS:
        experiment: Experiment | None = getattr(config, name)
        if isinstance(K, int) and experiment and variant in experiment.algorithms:
            smallest = min(experiment.dimensions())
            if smallest <= K:
                text = f"{K} must be below every D of {name}, which has {smallest}"
                yield ("variants", variant, "n_components"), text


def _wrong_values(
    algorithm: str, values: dict[str, Any], defaults: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if name not in defaults:
            yield name, f"unknown setting{_nearest(name, defaults)}"
        elif isinstance(value, bool) and not isinstance(defaults[name], bool):
            yield name, f"must be a number, got {value}"  # to Python, true is one
        elif (value, type(value)) != (defaults[name], type(defaults[name])):
            for text in _wrong_value(algorithm, name, value):
                yield name, text


def _wrong_value(algorithm: str, name: str, value: Any) -> Iterator[str]:
    # The estimator knows which values it takes. Importing it takes a second and more, which a
    # configuration that only spells out the defaults need not wait for.
    from sklearn.utils._param_validation import InvalidParameterError

    try:
        estimators.build(algorithm, {name: value})._validate_params()
    except InvalidParameterError as error:
        yield str(error)
    except TypeError:  # of the diagonal control, say, which has no n_components
        yield "unknown setting"


def _nearest(word: str, allowed: Iterable[str]) -> str:
    allowed = sorted(allowed)
    close = difflib.get_close_matches(word, allowed, n=1)
    hint = f"; did you mean '{close[0]}'?" if close else ""
    return f"{hint} (allowed: {', '.join(allowed) or 'none'})"


def _message(mistake: Any) -> str:
    """What pydantic found, in our words where its own are vague."""
    place, text = mistake["loc"], mistake["msg"].removeprefix("Value error, ")
    if mistake["type"] == "extra_forbidden":
        model = EXPERIMENTS.get(str(place[0]), Config)
        return f"unknown key{_nearest(str(place[-1]), model.model_fields)}"
    if mistake["type"] in ("missing", "value_error"):
        return str(text)
    return f"{text}, got {mistake['input']!r}"


def _key(place: Place) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return "".join(parts).removeprefix(".")


def _source(place: Place, values: Any, files: Sequence[str]) -> str:
    """Where the value at a place comes from: the last file that has it, or the command line."""
    given = _at(place, values)
    for file in reversed(files):
        if given is not None and _at(place, yaml.safe_load(Path(file).read_text())) == given:
            return _short(file)
    return "--config" if given is not None else _short(files[-1]) if files else "config"


def _at(place: Place, values: Any) -> Any:
    """The value at a place of nested mappings and lists; None if there is none."""
    for part in place:
        try:
            values = values[part]
        except (KeyError, IndexError, TypeError):
            return None
    return values


def _short(file: str) -> str:
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file
