"""Commands that read many cells: means, tests, whether all is well."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from onlinefa.commands.complaining import in_one_line

if TYPE_CHECKING:
    from onlinefa.commands import Commands


def add(commands: Commands) -> None:
    summarise = commands.add_parser("summarise", help="means and standard errors over seeds")
    summarise.add_argument("experiment")
    summarise.add_argument("--config", required=True, help="the whole configuration, as JSON")
    summarise.add_argument("--cells", required=True, type=Path, help="folder of fitted cells")
    summarise.add_argument("--output", required=True, type=Path)
    summarise.set_defaults(command=_summarise)

    compare = commands.add_parser("compare", help="paired tests, and ranks of algorithms")
    compare.add_argument("experiment")
    compare.add_argument("--config", required=True, help="the whole configuration, as JSON")
    compare.add_argument("--cells", required=True, type=Path, help="folder of fitted cells")
    compare.add_argument("--output", required=True, type=Path)
    compare.set_defaults(command=_compare)

    verify = commands.add_parser("verify", help="fail, and say which, if any cell has failed")
    verify.add_argument("--config", required=True, help="the whole configuration, as JSON")
    verify.add_argument("--cells", required=True, type=Path, help="folder of fitted cells")
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
    from onlinefa.config import Config
    from onlinefa.grid import bundles

    config = Config.model_validate_json(options.config)
    chosen = [bundle for bundle in bundles(config) if bundle.experiment == options.experiment]
    write(getattr(config, options.experiment), chosen, options.cells, options.output)
    return 0


@in_one_line
def _verify(options: argparse.Namespace) -> int:
    from onlinefa.config import Config
    from onlinefa.failures import failures
    from onlinefa.files import atomic
    from onlinefa.grid import bundles

    config = Config.model_validate_json(options.config)
    failed = list(failures(bundles(config), options.cells))
    for each in failed:
        log = options.logs / f"{each.bundle.name}.log"
        print(f"{each.cell.experiment}, {each.cell}: {each.reason} ({log})", file=sys.stderr)
    if failed:
        return 1
    with atomic(options.output) as temporary:
        temporary.write_text("No cell has failed.\n")
    return 0
