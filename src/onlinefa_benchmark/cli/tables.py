"""``onlinefa tables``: write all tables of an experiment."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from onlinefa_benchmark.cli.common import read_config

if TYPE_CHECKING:
    from onlinefa_benchmark.cli.common import Commands


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser("tables", help="write all tables of an experiment")
    parser.add_argument("experiment")
    parser.add_argument("--config", required=True, type=Path, help="checked configuration (JSON)")
    parser.add_argument("--summary", required=True, type=Path)
    parser.add_argument("--comparison", type=Path, nargs="?", help="if there is one")
    parser.add_argument("--datasets", required=True, type=Path, help="folder of fetched datasets")
    parser.add_argument("--output", required=True, type=Path, help="folder of tables")
    parser.set_defaults(command=_tables)


def _tables(options: argparse.Namespace) -> int:
    from onlinefa_benchmark import experiments
    from onlinefa_benchmark.reporting.tables import write_tables

    config = read_config(options)
    own = config.experiments[options.experiment]
    write_tables(
        experiments.load(options.experiment),
        own,
        options.summary,
        options.comparison,
        options.datasets,
        options.output,
    )
    return 0
