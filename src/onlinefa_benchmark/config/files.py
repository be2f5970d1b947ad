"""Configuration files: as users write them, and checked ones for the jobs of a run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from onlinefa_benchmark.algorithms import AlgorithmFacts
from onlinefa_benchmark.atomic_file import atomic
from onlinefa_benchmark.config import Config, config_model
from onlinefa_benchmark.config.validation import ConfigError, validate

DEFAULT = Path("config", "config.yaml")
# A link to config/config.yaml of the checkout, of which a wheel contains a copy.
_OF_PACKAGE = Path(__file__).parent / "default.yaml"


def read(files: Sequence[str], values: Sequence[str] = ()) -> Config:
    """Read a configuration as the workflow does.

    Parameters
    ----------
    files : sequence of str
        Files that are merged, in this order, into the default configuration. That is
        ``config/config.yaml`` of the working directory or, without one, that of the package.
    values : sequence of str
        Single values, ``key=value``, that are merged last.

    Raises
    ------
    ConfigError
        With one line for each mistake.
    """
    from snakemake.utils import update_config

    # Merge in Snakemake's order: the given files and values first, then the result into the
    # default. An experiment that is null in one file and configured in a later one therefore keeps
    # the other keys of the default.
    given: dict[str, Any] = {}
    for file in files:
        update_config(given, _load(file))
    for value in values:
        update_config(given, _parse(value))
    default = str(DEFAULT if DEFAULT.exists() else _OF_PACKAGE)
    config = _load(default)
    update_config(config, given)
    return validate(config, [default, *(str(Path(file).absolute()) for file in files)])


def _load(file: str) -> dict[str, Any]:
    from snakemake.common.configfile import load_configfile
    from snakemake_interface_common.exceptions import WorkflowError

    try:
        loaded: dict[str, Any] = load_configfile(file)
    except (WorkflowError, OSError, ValueError, yaml.YAMLError) as error:
        text = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{file}: {' '.join(str(text).split())}") from None
    return loaded


def _parse(value: str) -> dict[str, Any]:
    key, equals, text = value.partition("=")
    try:
        if not equals:
            raise ValueError("must be KEY=VALUE")
        return {key: yaml.safe_load(text)}
    except (ValueError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"--config: {value!r}: {reason}") from None


def checked_path(config: Config, folder: Path) -> Path:
    """Return the file for a checked configuration, named by its content.

    Two runs with different configurations, one of which may be a partial report of the other,
    therefore never read each other's file.
    """
    digest = hashlib.sha256(_format_checked(config).encode()).hexdigest()[:16]
    return folder / f"{digest}.json"


def write_checked(config: Config, path: Path) -> None:
    """Write a checked configuration, with the facts of its algorithms, for the jobs of a run."""
    if not path.exists():
        with atomic(path) as temporary:
            temporary.write_text(_format_checked(config))


def _format_checked(config: Config) -> str:
    facts = {name: asdict(facts) for name, facts in config.all_facts().items()}
    return json.dumps({"config": config.model_dump(mode="json"), "algorithms": facts})


def read_checked(path: Path) -> Config:
    """Read a checked configuration.

    Raises
    ------
    ConfigError
        If the file cannot be read or was written by other code.
    """
    try:
        checked = json.loads(path.read_bytes())
        config = config_model().model_validate(checked["config"])
        facts = {name: AlgorithmFacts(**values) for name, values in checked["algorithms"].items()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ConfigError(f"{path}: not a checked configuration ({reason})") from None
    return config.with_facts(facts)
