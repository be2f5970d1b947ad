"""``onlinefa more_seeds``: add seeds where standard errors are too large, once."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from onlinefa_benchmark.cli.common import errors_in_one_line, read_config

if TYPE_CHECKING:
    from onlinefa_benchmark.cli.common import Commands


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser("more_seeds", help="add seeds where standard errors are too large")
    parser.add_argument("--config", required=True, type=Path, help="checked configuration (JSON)")
    parser.add_argument("--summaries", required=True, type=Path, help="folder of summaries")
    parser.add_argument("--seeds", required=True, type=Path, help="file of the numbers of seeds")
    parser.set_defaults(command=_more_seeds)


def _more_seeds(options: argparse.Namespace) -> int:
    from onlinefa_benchmark.analysis.seed_extension import extend_seeds

    config = read_config(options)
    with errors_in_one_line():
        print(*extend_seeds(config, options.summaries, options.seeds), sep="\n", flush=True)
    return 0
