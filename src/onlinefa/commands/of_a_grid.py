"""What commands share that read the cells of a configured grid."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onlinefa.cell import Bundle
    from onlinefa.config import Config

Command = Callable[[argparse.Namespace], int]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", required=True, help="the whole configuration, as JSON")
    parser.add_argument("--cells", required=True, type=Path, help="folder of fitted cells")


def grid_of(options: argparse.Namespace) -> tuple[Config, list[Bundle]]:
    """The configuration, and all jobs of it."""
    from onlinefa.config import Config
    from onlinefa.grid import bundles

    config = Config.model_validate_json(options.config)
    return config, bundles(config)


def in_one_line(command: Command) -> Command:
    """The command, of which a file that cannot be aggregated is a line and an exit code."""

    @wraps(command)
    def complaining(options: argparse.Namespace) -> int:
        from onlinefa.results import ResultError

        try:
            return command(options)
        except ResultError as error:
            print(error, file=sys.stderr)
            return 1

    return complaining
