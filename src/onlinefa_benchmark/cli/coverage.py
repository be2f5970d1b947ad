"""``onlinefa coverage``: write the table of the status of all cells."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from onlinefa_benchmark.cli.common import add_config_options, errors_in_one_line, read_bundles

if TYPE_CHECKING:
    from onlinefa_benchmark.cli.common import Commands


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser("coverage", help="write the table of the status of all cells")
    add_config_options(parser)
    parser.add_argument("--output", required=True, type=Path, nargs="+", help="one per format")
    parser.set_defaults(command=_coverage)


def _coverage(options: argparse.Namespace) -> int:
    from onlinefa_benchmark.reporting.tables.coverage import write_table

    _, bundles = read_bundles(options)
    with errors_in_one_line():
        write_table(bundles, options.cells, options.output)
    return 0
