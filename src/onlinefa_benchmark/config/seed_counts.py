"""The file results/seeds.json: the numbers of seeds of settings to which seeds were added.

``snakemake more_seeds`` writes the file, and every run reads it, so that added seeds are kept. It
applies to experiments that have ``more_seeds`` in their configuration. Without the file, all
settings have the configured seeds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from onlinefa_benchmark.atomic_file import atomic
from onlinefa_benchmark.config import Config
from onlinefa_benchmark.config.validation import ConfigError
from onlinefa_benchmark.experiments._config import MOST_SEEDS
from onlinefa_benchmark.experiments.base import ExperimentConfig

SeedCounts = dict[str, dict[str, Annotated[int, Field(strict=True, ge=1, le=MOST_SEEDS)]]]
"""Numbers of seeds by experiment and setting."""


def read(path: Path) -> SeedCounts:
    """Read the file; return an empty dict if it does not exist.

    Raises
    ------
    ConfigError
        If it is not a file of this kind.
    """
    try:
        return TypeAdapter(SeedCounts).validate_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValidationError) as error:
        raise ConfigError(
            f"{path}: is not a file that `snakemake more_seeds` has written; delete it to go back "
            "to the configured seeds, no fit is lost"
        ) from error


def write(counts: SeedCounts, path: Path) -> None:
    """Write the file."""
    with atomic(path) as temporary:
        temporary.write_text(json.dumps(counts, indent=2) + "\n")


def apply(config: Config, counts: SeedCounts) -> Config:
    """Return the configuration in which settings have these numbers of seeds."""
    changed = {
        name: own.model_copy(update={"seeds_by_setting": _above_configured(own, counts[name])})
        for name, own in experiments_with_more_seeds(config)
        if name in counts
    }
    return config.model_copy(update=changed)


def experiments_with_more_seeds(config: Config) -> Iterator[tuple[str, ExperimentConfig]]:
    """Yield the experiments that have ``more_seeds`` in their configuration."""
    for name, own in config.experiments.items():
        if own.more_seeds:
            yield name, own


def _above_configured(own: ExperimentConfig, counts: dict[str, int]) -> dict[str, int] | None:
    most = own.more_seeds.most if own.more_seeds else 0
    capped = {setting: min(number, most) for setting, number in counts.items()}
    return {setting: n for setting, n in capped.items() if n > len(own.seeds)} or None
