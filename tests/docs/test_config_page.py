"""Tests that the tables of keys in config/README.md equal the configuration's models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from onlinefa_benchmark import experiments
from onlinefa_benchmark.config import Config, config_model

PAGE = Path(__file__).parents[2] / "config" / "README.md"


def keys_of_a_run() -> list[str]:
    fields = Config.model_fields.items()
    return ["| key | meaning |", "|---|---|", *(f"| `{k}` | {f.description} |" for k, f in fields)]


def all_experiments() -> Iterator[str]:
    yield from ("| experiment | description |", "|---|---|")
    for name in experiments.names():
        yield f"| `{name}` | {config_model().model_fields[name].description} |"


def keys_of_experiments() -> Iterator[str]:
    """Return a line for each key and meaning, with the experiments that have it."""
    found: dict[tuple[str, str], list[str]] = {}
    for name in experiments.names():
        for key, field in experiments.load(name).Config.model_fields.items():
            found.setdefault((key, str(field.description)), []).append(name)
    yield from ("| key | experiments | meaning |", "|---|---|---|")
    for (key, description), names in found.items():
        concerned = "all" if names == experiments.names() else ", ".join(names)
        yield f"| `{key}` | {concerned} | {description} |"


@pytest.mark.parametrize("table", [keys_of_a_run, all_experiments, keys_of_experiments])
def test_the_page_describes_every_key(table):
    expected = list(table())
    text = PAGE.read_text()
    assert expected[0] in text
    assert text[text.index(expected[0]) :].split("\n\n")[0].splitlines() == expected


def test_every_key_has_a_description():
    models = [Config, *(experiments.load(name).Config for name in experiments.names())]
    fields = [(key, field) for model in models for key, field in model.model_fields.items()]
    assert [key for key, field in fields if not field.description] == []
