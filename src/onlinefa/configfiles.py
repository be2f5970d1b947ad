"""The configuration as the workflow reads it, for commands that run without Snakemake."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from onlinefa.config import Config
from onlinefa.validation import ConfigError, validate

DEFAULT = Path(__file__).parents[2] / "config" / "config.yaml"


def read(files: Sequence[str], values: Sequence[str] = ()) -> Config:
    """The default, with files merged on top of it, and single values (`key=value`) on top of those.

    Whatever is wrong with them is a ConfigError, one line for each mistake.
    """
    from snakemake.utils import update_config

    # Snakemake merges what is given first, and then all of it into the default. This matters: an
    # experiment that one file leaves out and the next one has is the default's, with changes.
    given: dict[str, Any] = {}
    for file in files:
        update_config(given, _load(file))
    for value in values:
        update_config(given, _parsed(value))
    config = _load(str(DEFAULT))
    update_config(config, given)
    return validate(config, [str(DEFAULT), *map(str, map(Path.absolute, map(Path, files)))])


def _load(file: str) -> dict[str, Any]:
    from snakemake.common.configfile import load_configfile
    from snakemake_interface_common.exceptions import WorkflowError

    try:
        loaded: dict[str, Any] = load_configfile(file)
    except (WorkflowError, OSError, ValueError, yaml.YAMLError) as error:
        text = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{file}: {' '.join(str(text).split())}") from None
    return loaded


def _parsed(value: str) -> dict[str, Any]:
    key, equals, text = value.partition("=")
    try:
        if not equals:
            raise ValueError("must be KEY=VALUE")
        return {key: yaml.safe_load(text)}
    except (ValueError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"--config: {value!r}: {reason}") from None
