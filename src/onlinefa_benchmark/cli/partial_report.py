"""``onlinefa partial_report``: write a report of the cells that are finished so far."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from onlinefa_benchmark.cli.common import add_config_options, errors_in_one_line, read_bundles

if TYPE_CHECKING:
    from onlinefa_benchmark.cli.common import Commands


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "partial_report", help="write a report of the cells that are finished so far"
    )
    add_config_options(parser)
    parser.add_argument("--store", required=True, type=Path, help="folder of finished cells")
    parser.add_argument("--output", required=True, type=Path)
    parser.set_defaults(command=_partial_report)


def _partial_report(options: argparse.Namespace) -> int:
    from onlinefa_benchmark.reporting.html.material import read_partial
    from onlinefa_benchmark.reporting.html.page import write_report
    from onlinefa_benchmark.storage.store import Store

    config, bundles = read_bundles(options)
    with errors_in_one_line():
        material = read_partial(bundles, config, options.cells, Store(options.store))
        write_report(material, config, None, options.output)
    missing = sum(len(each.missing) for each in material)
    print(f"{options.output}: {missing} cells are missing" if missing else options.output)
    return 0
