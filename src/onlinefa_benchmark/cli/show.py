"""``onlinefa show``: show the rows of one cell, and their provenance."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from onlinefa_benchmark.cli.common import UserError, print_text

if TYPE_CHECKING:
    from onlinefa_benchmark.cli.common import Commands


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser("show", help="show the rows of one cell, and their provenance")
    parser.add_argument(
        "cell", help="a digest, its first 8 characters or more, or EXPERIMENT/AXIS~VALUE/..."
    )
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of results")
    parser.set_defaults(command=_show)


def _show(options: argparse.Namespace) -> int:
    from onlinefa_benchmark.cli.cell_view import AmbiguousCell, show_cell

    try:
        print_text(show_cell(options.cell, options.results))
    except AmbiguousCell as error:
        raise UserError(str(error)) from error
    return 0
