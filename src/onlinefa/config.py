"""The typed configuration. Whatever is wrong with a config is said before any job starts."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from onlinefa import estimators

Count = Annotated[int, Field(strict=True, ge=1)]
Seed = Annotated[int, Field(strict=True, ge=0)]


class ConfigError(ValueError):
    """What is wrong with a configuration, one line for each mistake."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Synthetic(_Strict):
    """Chapter 5: synthetic factor models."""

    algorithms: list[str] = Field(description="algorithms to compare, names of src/onlinefa/estimators")
    D: list[Count] = Field(description="observation dimensions")
    K: list[Count] = Field(description="latent dimensions, each below each D")
    spectrum: list[tuple[Count, Count]] = Field(description="ranges [low, high] of s^2 in Algorithm 3")
    T: list[Count] = Field(description="sample sizes at which a fit is measured, increasing")
    seeds: list[Seed] = Field(description="a list of seeds, or their number n for 0 to n - 1")

    @field_validator("seeds", mode="before")
    @classmethod
    def _number_of_seeds(cls, seeds: Any) -> Any:
        is_number = isinstance(seeds, int) and not isinstance(seeds, bool)
        return list(range(seeds)) if is_number else seeds

    @field_validator("algorithms", "D", "K", "spectrum", "T", "seeds")
    @classmethod
    def _not_empty_no_duplicates(cls, values: list[Any]) -> list[Any]:
        if not values:
            raise ValueError("is empty, so there is nothing to run")
        repeated = sorted({str(value) for value in values if values.count(value) > 1})
        if repeated:
            raise ValueError(f"has {repeated[0]} more than once")
        return values

    @field_validator("algorithms")
    @classmethod
    def _known(cls, algorithms: list[str]) -> list[str]:
        for algorithm in algorithms:
            _check_algorithm(algorithm)
        return algorithms

    @field_validator("K")
    @classmethod
    def _below_D(cls, K: list[int], info: ValidationInfo) -> list[int]:
        D = info.data.get("D", [])
        if D and max(K) >= min(D):
            raise ValueError(f"{max(K)} must be below every D, and D has {min(D)}")
        return K

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
        for before, after in zip(T, T[1:], strict=False):
            if after <= before:
                raise ValueError(f"must be increasing, and {after} follows {before}")
        return T


class Config(_Strict):
    """Everything that a run of the workflow is told."""

    root_seed: Seed = Field(description="changes every random number of the benchmark")
    seeds_per_job: Count = Field(description="how many seeds one process fits; no result depends on it")
    settings: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="settings of algorithms that differ from their defaults"
    )
    synthetic: Synthetic | None = Field(default=None, description="chapter 5: synthetic factor models")

    @field_validator("settings")
    @classmethod
    def _accepted(cls, settings: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        for algorithm, values in settings.items():
            _check_algorithm(algorithm)
            _check_settings(algorithm, values)
        return settings


def validate(values: dict[str, Any], files: Sequence[str | Path] = ()) -> Config:
    """The typed configuration, or a ConfigError that names file, key and what is allowed."""
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        lines = [_line(mistake, files) for mistake in error.errors()]
        raise ConfigError("\n".join(lines)) from None
    if config.synthetic is None:
        raise ConfigError(f"{_file_of((), files)}: no experiment is configured; add 'synthetic'")
    return config


def _check_algorithm(name: str) -> None:
    if name not in estimators.names():
        raise ValueError(f"unknown algorithm '{name}'{_nearest(name, estimators.names())}")


def _check_settings(algorithm: str, values: dict[str, Any]) -> None:
    defaults = estimators.default_settings(algorithm)
    for name in values:
        if name not in defaults:
            raise ValueError(f"{algorithm} has no setting '{name}'{_nearest(name, defaults)}")
    # The estimator knows which values it takes. Importing it takes a second and more, which a
    # configuration that only spells out the defaults need not wait for.
    if values != {name: defaults[name] for name in values}:
        from sklearn.utils._param_validation import InvalidParameterError

        try:
            estimators.build(algorithm, values)._validate_params()
        except InvalidParameterError as error:
            raise ValueError(" ".join(str(error).split())) from None


def _nearest(word: str, allowed: Iterable[str]) -> str:
    allowed = sorted(allowed)
    close = difflib.get_close_matches(word, allowed, n=1)
    hint = f"; did you mean '{close[0]}'?" if close else ""
    return f"{hint} (allowed: {', '.join(allowed) or 'none'})"


def _line(mistake: Any, files: Sequence[str | Path]) -> str:
    """One mistake in one line: file, key, what is wrong."""
    place = mistake["loc"]
    message = mistake["msg"].removeprefix("Value error, ")
    if mistake["type"] == "extra_forbidden":
        model = Synthetic if place[0] == "synthetic" else Config
        message = f"unknown key{_nearest(str(place[-1]), model.model_fields)}"
    elif mistake["type"] != "missing" and not isinstance(mistake["input"], dict):
        message = f"{message} (got {mistake['input']!r})"
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return f"{_file_of(place, files)}: {key.removeprefix('.')}: {message}"


def _file_of(place: Sequence[str | int], files: Sequence[str | Path]) -> str:
    """The last of the merged files that has the key; the last one for a key that none has."""
    for file in reversed(files):
        content = yaml.safe_load(Path(file).read_text())
        for part in place:
            if not isinstance(content, dict) or part not in content:
                break
            content = content[part]
        else:
            return str(file)
        if place and isinstance(content, list):  # the place is an entry of a list in this file
            return str(file)
    return str(files[-1]) if files else "config"
