"""Validation of a configuration before any job starts, with one line for each mistake."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from onlinefa_benchmark import algorithms, experiments, metrics
from onlinefa_benchmark.config import Config, Variant, config_model
from onlinefa_benchmark.suggestions import nearest

Place = tuple[str | int, ...]
"""The keys and positions that lead to a value in nested mappings and lists."""

Mistake = tuple[Place, str]


class ConfigError(ValueError):
    """Exception for a wrong configuration; the message has one line for each mistake."""


def validate(values: dict[str, Any], files: Sequence[str] = ()) -> Config:
    """Return the checked configuration.

    Parameters
    ----------
    values : dict
        The configuration as it was read.
    files : sequence of str
        Files that were merged into `values`, each on top of the one before.

    Raises
    ------
    ConfigError
        With the file, the key and what is allowed, for each mistake.
    """
    try:
        config = config_model().model_validate(values, context=_variants(values))
        mistakes = [*_check_settings(config), *_check_variants(config)]
        mistakes += [*_check_metrics(config), *_check_compared_with(config)]
        mistakes += _check_runs(config) if not mistakes else []
    except ValidationError as error:
        mistakes = [
            (mistake["loc"] or (str(mistake["input"]),), _message(mistake))  # a key itself
            for mistake in error.errors()
        ]
    if mistakes:
        lines = [
            f"{_source(place, values, files)}: {_key(place)}: {text}" for place, text in mistakes
        ]
        raise ConfigError("\n".join(map(_printable, lines)))
    if not config.experiments:
        file, names = _source((), None, files), ", ".join(experiments.names())
        raise ConfigError(f"{file}: has none of {names}: there is nothing to run")
    return config


def _variants(values: dict[str, Any]) -> dict[str, str]:
    """Return the algorithm behind each variant of a configuration that is not checked yet."""
    given = values.get("variants")
    variants = given.items() if isinstance(given, dict) else ()
    return {
        str(name): str(variant.get("algorithm"))
        for name, variant in variants
        if isinstance(variant, dict)
    }


def _check_settings(config: Config) -> Iterator[Mistake]:
    for algorithm, values in config.settings.items():
        if text := algorithms.find_problem(algorithm, algorithms.names()):
            yield ("settings", algorithm), text
        else:
            defaults = algorithms.default_settings(algorithm)
            for name, text in _check_values(algorithm, values, defaults):
                yield ("settings", algorithm, name), text


def _check_variants(config: Config) -> Iterator[Mistake]:
    for name, variant in config.variants.items():
        if name in algorithms.names():
            yield ("variants", name), "is an algorithm; a variant needs another name"
        elif not re.fullmatch("[a-z][a-z0-9_]{0,99}", name):  # it is also the name of a folder
            yield (
                ("variants", name),
                "must have lower-case letters, digits and _ only, and at most 100 characters",
            )
        elif text := algorithms.find_problem(variant.algorithm, algorithms.names()):
            yield ("variants", name, "algorithm"), text
        else:
            # A variant may also set the number of factors, which otherwise the experiment sets.
            allowed = algorithms.default_settings(variant.algorithm) | {"n_components": ...}
            for key, text in _check_values(variant.algorithm, variant.settings, allowed):
                yield ("variants", name, key), text
            yield from _check_components(config, name, variant)


def _check_components(config: Config, name: str, variant: Variant) -> Iterator[Mistake]:
    K = variant.settings.get("n_components")
    for experiment, own in config.experiments.items():
        if isinstance(K, int) and name in own.algorithms:
            smallest = min(own.dimensions())
            if smallest <= K:
                text = f"{_shorten(K)} must be below every D of {experiment}, which has {smallest}"
                yield ("variants", name, "n_components"), text


def _check_compared_with(config: Config) -> Iterator[Mistake]:
    for name, own in config.experiments.items():
        if own.algorithms == [own.compared_with]:
            yield (name, "compared_with"), f"{own.compared_with} is the only algorithm"


def _check_runs(config: Config) -> Iterator[Mistake]:
    """Check that enough networks are trained for each ensemble and mixture."""
    for name, own in config.experiments.items():
        runs = getattr(own, "runs", None)
        if runs is None:
            continue
        for algorithm in own.algorithms:
            settings = config.settings_of(algorithm)
            wanted = settings.get("runs", settings.get("members", 1))
            if wanted > runs:
                yield (name, "runs"), f"{runs} is below the {wanted} networks of {algorithm}"
                break


def _check_metrics(config: Config) -> Iterator[Mistake]:
    for name, own in config.experiments.items():
        experiment, added = experiments.load(name), own.metrics or []
        unknown = [metric for metric in added if metric not in metrics.names()]
        for position, metric in enumerate(added):
            place = (name, "metrics", position)
            if metric in unknown:
                yield place, _unknown_metric(metric, metrics.names())
            elif (kind := metrics.load(metric).kind) != experiment.additional_metric_kind:
                yield place, f"{metric} measures a {kind} result, which {name} does not have"
        if own.more_seeds and not unknown:
            known = experiment.all_metrics(own)
            if own.more_seeds.metric not in known:
                text = _unknown_metric(own.more_seeds.metric, known)
                yield (name, "more_seeds", "metric"), text


def _unknown_metric(metric: str, known: Iterable[str]) -> str:
    return f"unknown metric {_shorten(metric)}{nearest(metric, known)}"


def _check_values(
    algorithm: str, values: dict[str, Any], defaults: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if name not in defaults:
            yield name, f"unknown setting{nearest(name, defaults)}"
        elif isinstance(value, bool) and not isinstance(defaults[name], bool):
            yield name, f"must be a number, got {value}"  # bool is a subclass of int
        elif isinstance(value, int | float) and not abs(value) < 2**63:
            yield name, f"must be a number of reasonable size, got {_shorten(value)}"
        elif (value, type(value)) != (defaults[name], type(defaults[name])):
            for text in _check_value(algorithm, name, value):
                yield name, text


def _check_value(algorithm: str, name: str, value: Any) -> Iterator[str]:
    """Check a value with the parameter constraints of the algorithm."""
    try:
        algorithms.load(algorithm)(**{name: value})._validate_params()
    except ValueError as error:
        yield " ".join(str(error).split())
    except TypeError:  # the diagonal control, for example, has no n_components
        yield "unknown setting"


def _message(mistake: Any) -> str:
    """Return pydantic's message, or a clearer one for some kinds of mistakes."""
    place, text = mistake["loc"], mistake["msg"].removeprefix("Value error, ")
    if mistake["type"] == "extra_forbidden":
        return f"unknown key{nearest(str(place[-1]), _model_at(place[:-1]).model_fields)}"
    if mistake["type"] == "list_type":
        number = " of seeds, or their number" if place[-1] == "seeds" else ""
        return f"must be a list{number}, got {_shorten(mistake['input'])}"
    if mistake["type"] in ("missing", "value_error"):
        return str(text)
    return f"{text}, got {_shorten(mistake['input'])}"


def _model_at(place: Place) -> type[BaseModel]:
    """Return the model whose keys are at a place of the configuration."""
    model: type[BaseModel] = config_model()
    for key in place:
        if key in model.model_fields:
            model = next(_models_in(model.model_fields[str(key)].annotation), model)
    return model


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _key(place: Place) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{_word(part)}" for part in place)
    return "".join(parts).removeprefix(".")


def _word(key: str) -> str:
    """Return a key, in quotation marks if it is long or has unusual characters."""
    return key if re.fullmatch(r"\w{1,100}", key) else _shorten(key)


def _shorten(value: Any) -> str:
    """Format a user's value with a limited number of characters."""
    try:
        text = repr(value)
    except ValueError:  # Python does not convert integers with thousands of digits to text
        text = "a number of thousands of digits"
    return text if len(text) <= 100 else f"{text[:100]}..."


def _printable(line: str) -> str:
    """Escape characters that are not printable, so that a message stays one line."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in line)


def _source(place: Place, values: Any, files: Sequence[str]) -> str:
    """Return where the value at a place comes from: the last file that has it, or --config."""
    given = _at(place, values)
    for file in reversed(files):
        if given is not None and _at(place, yaml.safe_load(Path(file).read_text())) == given:
            return _short_path(file)
    return "--config" if given is not None else _short_path(files[-1]) if files else "config"


def _at(place: Place, values: Any) -> Any:
    """Return the value at a place of nested mappings and lists; None if there is none."""
    for part in place:
        try:
            values = values[part]
        except (KeyError, IndexError, TypeError):
            return None
    return values


def _short_path(file: str) -> str:
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file
