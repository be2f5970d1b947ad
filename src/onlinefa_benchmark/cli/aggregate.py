"""``onlinefa aggregate``: means and standard errors over seeds, and paired tests."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from onlinefa_benchmark.cli.common import add_config_options, errors_in_one_line, read_config

if TYPE_CHECKING:
    from onlinefa_benchmark.cli.common import Commands


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "aggregate", help="write the summary of an experiment, and its comparison"
    )
    parser.add_argument("experiment")
    add_config_options(parser)
    parser.add_argument("--summary", required=True, type=Path)
    parser.add_argument(
        "--comparison", type=Path, nargs="?", help="if the experiment has `compared_with`"
    )
    parser.set_defaults(command=_aggregate)


def _aggregate(options: argparse.Namespace) -> int:
    from onlinefa_benchmark.analysis.comparison import write_comparison
    from onlinefa_benchmark.analysis.summary import write_summary
    from onlinefa_benchmark.grid import bundles

    config = read_config(options)
    jobs = bundles(config, [options.experiment])
    with errors_in_one_line():
        write_summary(config, options.experiment, jobs, options.cells, options.summary)
        if options.comparison:
            write_comparison(config, options.experiment, jobs, options.cells, options.comparison)
    return 0
