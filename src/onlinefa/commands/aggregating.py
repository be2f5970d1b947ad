"""Commands that read many cells: means, tests, whether all is well."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from onlinefa.commands.of_a_grid import add_options, grid_of, in_one_line

if TYPE_CHECKING:
    from onlinefa.commands import Commands


def add(commands: Commands) -> None:
    summarise = commands.add_parser("summarise", help="means and standard errors over seeds")
    compare = commands.add_parser("compare", help="paired tests, and ranks of algorithms")
    for parser, command in ((summarise, _summarise), (compare, _compare)):
        parser.add_argument("experiment")
        add_options(parser)
        parser.add_argument("--output", required=True, type=Path)
        parser.set_defaults(command=command)

    verify = commands.add_parser("verify", help="fail, and say which, if any cell has failed")
    add_options(verify)
    verify.add_argument("--logs", required=True, type=Path, help="folder of the logs of fits")
    verify.add_argument("--output", required=True, type=Path)
    verify.set_defaults(command=_verify)


@in_one_line
def _summarise(options: argparse.Namespace) -> int:
    from onlinefa.summary import write_summary

    return _aggregate(options, lambda _, *files: write_summary(*files))


@in_one_line
def _compare(options: argparse.Namespace) -> int:
    from onlinefa.comparison import write_comparison

    return _aggregate(options, lambda grid, *files: write_comparison(grid.compared_with, *files))


def _aggregate(options: argparse.Namespace, write: Callable[..., None]) -> int:
    """What is written from the cells of one experiment, of which `write` is told all."""
    config, bundles = grid_of(options)
    chosen = [bundle for bundle in bundles if bundle.experiment == options.experiment]
    write(getattr(config, options.experiment), chosen, options.cells, options.output)
    return 0


@in_one_line
def _verify(options: argparse.Namespace) -> int:
    from onlinefa.failures import failures
    from onlinefa.files import atomic

    _, bundles = grid_of(options)
    failed = list(failures(bundles, options.cells))
    for each in failed:
        log = options.logs / f"{each.bundle.name}.log"
        print(f"{each.cell.experiment}, {each.cell}: {each.reason} ({log})", file=sys.stderr)
    if failed:
        return 1
    with atomic(options.output) as temporary:
        temporary.write_text("No cell has failed.\n")
    return 0
