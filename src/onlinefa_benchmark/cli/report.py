"""``onlinefa report``: write the report of a finished run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from onlinefa_benchmark.cli.common import add_config_options, errors_in_one_line, read_bundles

if TYPE_CHECKING:
    from onlinefa_benchmark.cli.common import Commands


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser("report", help="write the report of a finished run")
    add_config_options(parser)
    parser.add_argument("--summaries", required=True, type=Path, help="folder of summaries")
    parser.add_argument("--comparisons", required=True, type=Path, help="folder of comparisons")
    parser.add_argument("--figures", required=True, type=Path, help="folder of figures")
    parser.add_argument("--output", required=True, type=Path)
    parser.set_defaults(command=_report)


def _report(options: argparse.Namespace) -> int:
    from onlinefa_benchmark.reporting.html.material import read_finished
    from onlinefa_benchmark.reporting.html.page import write_report

    config, bundles = read_bundles(options)
    folders = (options.cells, options.summaries, options.comparisons)
    with errors_in_one_line():
        material = read_finished(bundles, config, *folders)
        write_report(material, config, options.figures, options.output)
    return 0
