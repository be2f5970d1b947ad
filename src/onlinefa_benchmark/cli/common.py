"""Options and errors that commands share."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onlinefa_benchmark.cells import Bundle
    from onlinefa_benchmark.config import Config

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

Command = Callable[[argparse.Namespace], int]


class UserError(Exception):
    """Exception for an expected error, which is reported by its message alone."""


def add_config_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that read the cells of a checked configuration."""
    parser.add_argument("--config", required=True, type=Path, help="checked configuration (JSON)")
    parser.add_argument("--cells", required=True, type=Path, help="folder of fitted cells")


def read_config(options: argparse.Namespace) -> Config:
    """Read the checked configuration of a run."""
    from onlinefa_benchmark.config.files import read_checked

    with errors_in_one_line():
        return read_checked(options.config)


def read_bundles(options: argparse.Namespace) -> tuple[Config, list[Bundle]]:
    """Read the checked configuration of a run; return it with its jobs."""
    from onlinefa_benchmark.grid import bundles

    config = read_config(options)
    return config, bundles(config)


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """Turn errors about configurations and result files into a `UserError`."""
    from onlinefa_benchmark.config.validation import ConfigError
    from onlinefa_benchmark.storage.result_file import ResultError

    try:
        yield
    except (ConfigError, ResultError) as error:
        raise UserError(str(error)) from error


def print_text(text: str) -> None:
    """Print text, or as much of it as a program such as ``head`` reads."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # Python flushes the standard output when it exits, which would raise the error again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
