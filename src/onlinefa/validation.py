"""Whatever is wrong with a config is said before any job starts, in one line for each mistake."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from onlinefa import algorithms
from onlinefa.config import EXPERIMENTS, Config, Experiment, Limit, MoreSeeds, Trained, Variant
from onlinefa.constraints import InvalidParameter
from onlinefa.names import complaint, nearest
from onlinefa.tables import METRICS

Place = tuple[str | int, ...]  # of a value in nested mappings and lists

_INSIDE: dict[str, type[BaseModel]] = {"limits": Limit, "more_seeds": MoreSeeds}
"""What keys of an experiment hold that have keys themselves."""


class ConfigError(ValueError):
    """What is wrong with a configuration, one line for each mistake."""


def validate(values: dict[str, Any], files: Sequence[str] = ()) -> Config:
    """The typed configuration, or a ConfigError that names file, key and what is allowed.

    `files` are those that were merged into `values`, each on top of the one before.
    """
    mistakes: list[tuple[Place, str]] = []
    try:
        config = Config.model_validate(values, context=_variants(values))
        mistakes += [*_wrong_settings(config), *_wrong_variants(config), *_wrong_metrics(config)]
        mistakes += _nobody_else(config)
        mistakes += _too_few_runs(config) if not mistakes else []
    except ValidationError as error:
        mistakes += [
            (mistake["loc"] or (str(mistake["input"]),), _message(mistake))  # a key itself
            for mistake in error.errors()
        ]
    if mistakes:
        lines = [
            f"{_source(place, values, files)}: {_key(place)}: {text}" for place, text in mistakes
        ]
        raise ConfigError("\n".join(map(_printable, lines)))
    if all(getattr(config, name) is None for name in EXPERIMENTS):
        file = _source((), None, files)
        raise ConfigError(f"{file}: has none of {', '.join(EXPERIMENTS)}: there is nothing to run")
    return config


def _variants(values: dict[str, Any]) -> dict[str, str]:
    """The algorithm behind each variant's name, of a configuration that nobody has checked yet."""
    given = values.get("variants")
    variants = given.items() if isinstance(given, dict) else ()
    return {
        str(name): str(variant.get("algorithm"))
        for name, variant in variants
        if isinstance(variant, dict)
    }


def _wrong_settings(config: Config) -> Iterator[tuple[Place, str]]:
    for algorithm, values in config.settings.items():
        if text := complaint(algorithm, algorithms.names()):
            yield ("settings", algorithm), text
        else:
            defaults = algorithms.default_settings(algorithm)
            for name, text in _wrong_values(algorithm, values, defaults):
                yield ("settings", algorithm, name), text


def _wrong_variants(config: Config) -> Iterator[tuple[Place, str]]:
    for variant, value in config.variants.items():
        if variant in algorithms.names():
            yield ("variants", variant), "is an algorithm; a variant needs a name of its own"
        elif not re.fullmatch("[a-z][a-z0-9_]{0,99}", variant):  # it is a folder's name, too
            yield (
                ("variants", variant),
                "must have small letters, digits and _ only, and no more than 100",
            )
        elif text := complaint(value.algorithm, algorithms.names()):
            yield ("variants", variant, "algorithm"), text
        else:
            # What an experiment would choose may be chosen here as well: the number of factors.
            allowed = algorithms.default_settings(value.algorithm) | {"n_components": ...}
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
                text = f"{_shown(K)} must be below every D of {name}, which has {smallest}"
                yield ("variants", variant, "n_components"), text


def _nobody_else(config: Config) -> Iterator[tuple[Place, str]]:
    """Where the only algorithm is to be compared with itself."""
    for name in EXPERIMENTS:
        experiment: Experiment | None = getattr(config, name)
        if experiment and experiment.algorithms == [experiment.compared_with]:
            yield (name, "compared_with"), f"{experiment.compared_with} is the only algorithm"


def _too_few_runs(config: Config) -> Iterator[tuple[Place, str]]:
    """Ensembles and mixtures take so many of the networks that an experiment trains."""
    for name in EXPERIMENTS:
        experiment = getattr(config, name)
        if not isinstance(experiment, Trained):
            continue
        for algorithm in experiment.algorithms:
            settings = config.settings_of(algorithm)
            wanted = settings.get("runs", settings.get("members", 1))
            if wanted > experiment.runs:
                yield (name, "runs"), f"{experiment.runs} is below the {wanted} of {algorithm}"
                break


def _wrong_metrics(config: Config) -> Iterator[tuple[Place, str]]:
    """A model of several experiments cannot know what each of them measures."""
    for name in EXPERIMENTS:
        experiment: Experiment | None = getattr(config, name)
        metric = experiment and experiment.more_seeds and experiment.more_seeds.metric
        if metric and metric not in METRICS[name]:
            text = f"unknown metric {_shown(metric)}{nearest(metric, METRICS[name])}"
            yield (name, "more_seeds", "metric"), text


def _wrong_values(
    algorithm: str, values: dict[str, Any], defaults: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if name not in defaults:
            yield name, f"unknown setting{nearest(name, defaults)}"
        elif isinstance(value, bool) and not isinstance(defaults[name], bool):
            yield name, f"must be a number, got {value}"  # to Python, true is one
        elif isinstance(value, int | float) and not abs(value) < 2**63:
            yield name, f"must be a number of reasonable size, got {_shown(value)}"
        elif (value, type(value)) != (defaults[name], type(defaults[name])):
            for text in _wrong_value(algorithm, name, value):
                yield name, text


def _wrong_value(algorithm: str, name: str, value: Any) -> Iterator[str]:
    # The estimator knows which values it takes. It is imported for that, though nothing that fits.
    try:
        algorithms.build(algorithm, {name: value}).check_parameters()
    except InvalidParameter as error:
        yield str(error)
    except ValueError as error:  # of what cannot even be shown
        yield f"cannot be: {error}"
    except TypeError:  # of the diagonal control, say, which has no n_components
        yield "unknown setting"


def _message(mistake: Any) -> str:
    """What pydantic found, in our words where its own are vague."""
    place, text = mistake["loc"], mistake["msg"].removeprefix("Value error, ")
    if mistake["type"] == "extra_forbidden":
        of_experiment = EXPERIMENTS.get(str(place[0]), Config)
        model = next((_INSIDE[key] for key in _INSIDE if key in place[:-1]), of_experiment)
        return f"unknown key{nearest(str(place[-1]), model.model_fields)}"
    if mistake["type"] == "list_type":
        number = " of seeds, or their number" if place[-1] == "seeds" else ""
        return f"must be a list{number}, got {_shown(mistake['input'])}"
    if mistake["type"] in ("missing", "value_error"):
        return str(text)
    return f"{text}, got {_shown(mistake['input'])}"


def _key(place: Place) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{_word(part)}" for part in place)
    return "".join(parts).removeprefix(".")


def _word(key: str) -> str:
    """A key as it is, if one can tell from that where it begins and ends."""
    return key if re.fullmatch(r"\w{1,100}", key) else _shown(key)


def _shown(value: Any) -> str:
    """What somebody has written, in a part of a line."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write out thousands of digits
        text = "a number of thousands of digits"
    return text if len(text) <= 100 else f"{text[:100]}..."


def _printable(line: str) -> str:
    """One line, whatever the names in it are made of."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in line)


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
