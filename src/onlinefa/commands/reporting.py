"""Commands that write the report."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from onlinefa.commands.complaining import in_one_line

if TYPE_CHECKING:
    from onlinefa.commands import Commands


def add(commands: Commands) -> None:
    report = commands.add_parser("report", help="write the report of a finished run")
    report.add_argument("--config", required=True, help="the whole configuration, as JSON")
    report.add_argument("--cells", required=True, type=Path, help="folder of fitted cells")
    report.add_argument("--summaries", required=True, type=Path, nargs="+", help="all of them")
    report.add_argument("--comparisons", type=Path, nargs="*", default=[], help="those there are")
    report.add_argument("--figures", type=Path, nargs="*", default=[], help="pictures to show")
    report.add_argument("--output", required=True, type=Path)
    report.set_defaults(command=_report)

    partial = commands.add_parser("partial_report", help="write a report of what cells there are")
    partial.add_argument("--config", required=True, help="the whole configuration, as JSON")
    partial.add_argument("--cells", required=True, type=Path, help="folder of fitted cells")
    partial.add_argument("--store", required=True, type=Path, help="folder of finished cells")
    partial.add_argument("--output", required=True, type=Path)
    partial.set_defaults(command=_partial_report)


@in_one_line
def _report(options: argparse.Namespace) -> int:
    from onlinefa.config import Config
    from onlinefa.grid import bundles
    from onlinefa.report.material import finished
    from onlinefa.report.page import write_report

    config = Config.model_validate_json(options.config)
    files = (options.cells, options.summaries, options.comparisons)
    write_report(finished(bundles(config), *files), config, options.figures, options.output)
    return 0


@in_one_line
def _partial_report(options: argparse.Namespace) -> int:
    from onlinefa.config import Config
    from onlinefa.grid import bundles
    from onlinefa.report.material import partial
    from onlinefa.report.page import write_report
    from onlinefa.results import Store

    config = Config.model_validate_json(options.config)
    material = partial(bundles(config), config, options.cells, Store(options.store))
    write_report(material, config, [], options.output)
    missing = sum(len(each.missing) for each in material)
    print(f"{options.output}: {missing} cells are missing" if missing else options.output)
    return 0
