"""Commands that write the report."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from onlinefa.commands.of_a_grid import add_options, grid_of, in_one_line

if TYPE_CHECKING:
    from onlinefa.commands import Commands


def add(commands: Commands) -> None:
    report = commands.add_parser("report", help="write the report of a finished run")
    add_options(report)
    report.add_argument("--summaries", required=True, type=Path, nargs="+", help="all of them")
    report.add_argument("--comparisons", type=Path, nargs="*", default=[], help="those there are")
    report.add_argument("--figures", type=Path, nargs="*", default=[], help="pictures to show")
    report.add_argument("--output", required=True, type=Path)
    report.set_defaults(command=_report)

    partial = commands.add_parser("partial_report", help="write a report of what cells there are")
    add_options(partial)
    partial.add_argument("--store", required=True, type=Path, help="folder of finished cells")
    partial.add_argument("--output", required=True, type=Path)
    partial.set_defaults(command=_partial_report)


@in_one_line
def _report(options: argparse.Namespace) -> int:
    from onlinefa.report.material import finished
    from onlinefa.report.page import write_report

    config, bundles = grid_of(options)
    files = (options.cells, options.summaries, options.comparisons)
    write_report(finished(bundles, *files), config, options.figures, options.output)
    return 0


@in_one_line
def _partial_report(options: argparse.Namespace) -> int:
    from onlinefa.report.material import partial
    from onlinefa.report.page import write_report
    from onlinefa.results import Store

    config, bundles = grid_of(options)
    material = partial(bundles, config, options.cells, Store(options.store))
    write_report(material, config, [], options.output)
    missing = sum(len(each.missing) for each in material)
    print(f"{options.output}: {missing} cells are missing" if missing else options.output)
    return 0
