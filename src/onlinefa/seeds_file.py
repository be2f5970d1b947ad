"""results/seeds.json: how many seeds settings have that have more than the configured ones.

`snakemake more_seeds` writes it, and every plan reads it, so that what was added once stays. It
concerns experiments that have `more_seeds` in their configuration, and of them settings that are
configured; others may come back. Without the file, all have the configured seeds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from onlinefa.config import EXPERIMENTS, Config, Experiment
from onlinefa.config.base import MOST_SEEDS
from onlinefa.files import atomic
from onlinefa.grid import bundles
from onlinefa.stopping import verdicts
from onlinefa.validation import ConfigError

Numbers = dict[str, dict[str, Annotated[int, Field(strict=True, ge=1, le=MOST_SEEDS)]]]
"""Of seeds, by experiment and setting."""


def read(path: Path) -> Numbers:
    """What was decided so far; a ConfigError of one line if that cannot be told."""
    try:
        return TypeAdapter(Numbers).validate_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValidationError) as error:
        raise ConfigError(
            f"{path}: is not what `snakemake more_seeds` writes; without the file, all settings "
            "have the configured seeds again, and nothing is lost"
        ) from error


def with_numbers(config: Config, numbers: Numbers) -> Config:
    """The configuration in which settings have so many seeds, if it asks for more seeds at all."""
    changed = {
        name: grid.model_copy(update={"seeds_by_setting": _own(grid, numbers[name]) or None})
        for name, grid in _experiments(config)
        if name in numbers
    }
    return config.model_copy(update=changed)


def _own(grid: Experiment, numbers: dict[str, int]) -> dict[str, int]:
    most = grid.more_seeds.most if grid.more_seeds else 0
    capped = {setting: min(number, most) for setting, number in numbers.items()}
    return {setting: number for setting, number in capped.items() if number > len(grid.seeds)}


def _experiments(config: Config) -> Iterable[tuple[str, Experiment]]:
    """Those that ask for more seeds."""
    for name in EXPERIMENTS:
        grid: Experiment | None = getattr(config, name)
        if grid and grid.more_seeds:
            yield name, grid


def extend(config: Config, summaries: Path, path: Path) -> list[str]:
    """Decide by the summaries who gets more seeds, and write that down; a line for each setting."""
    from onlinefa.summary import read_summary

    numbers, lines = read(path), list[str]()
    before, grid_of = json.dumps(numbers), bundles(config)
    for name, grid in _experiments(config):
        groups = {
            tuple(group.axes.items()): group
            for bundle in grid_of
            if bundle.experiment == name
            for group in bundle.groups
        }
        found = verdicts(grid, groups.values(), read_summary(summaries / f"{name}.parquet"))
        own = numbers.setdefault(name, {})
        own |= {
            verdict.setting: max(verdict.wanted, own.get(verdict.setting, 0))
            for verdict in found
            if verdict.wanted > len(grid.seeds)
        }
        lines += [f"{name}, {_target(grid)}", *(f"  {verdict}" for verdict in found)]
    numbers = {name: own for name, own in numbers.items() if own}
    if json.dumps(numbers) != before:
        with atomic(path) as temporary:
            temporary.write_text(json.dumps(numbers, indent=2) + "\n")
    return lines


def _target(grid: Experiment) -> str:
    rule = grid.more_seeds
    if rule is None:
        return ""
    unit = " of the mean" if rule.relative else ""
    return f"{rule.metric}: standard errors up to {rule.error:g}{unit}, up to {rule.most} seeds"
