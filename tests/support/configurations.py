"""Configurations for tests: the files of this repository, and changes to them."""

from __future__ import annotations

import copy
from pathlib import Path

import yaml

from onlinefa_benchmark import experiments
from onlinefa_benchmark.config.validation import validate

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "config"


def read_file(name="config"):
    """Return a configuration file of this repository, as it is."""
    return yaml.safe_load((FOLDER / f"{name}.yaml").read_text())


def changed(values, key, value):
    """Return a copy in which one key, written a.b.c, has another value."""
    values = copy.deepcopy(values)
    *path, last = key.split(".")
    place = values
    for part in path:
        place = place.setdefault(part, {})
    place[last] = value
    return values


def without_experiments():
    """Return a configuration that leaves out every experiment of the default."""
    return dict.fromkeys(experiments.names())


def only(name, **changes):
    """Return the checked default configuration of one experiment, with some changes."""
    default = read_file()
    return validate(default | without_experiments() | {name: default[name] | changes})
