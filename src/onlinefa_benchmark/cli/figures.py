"""``onlinefa figures``: draw all figures of an experiment."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from onlinefa_benchmark.cli.common import read_config

if TYPE_CHECKING:
    from onlinefa_benchmark.cli.common import Commands


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser("figures", help="draw all figures of an experiment")
    parser.add_argument("experiment")
    parser.add_argument("--config", required=True, type=Path, help="checked configuration (JSON)")
    parser.add_argument("--summary", required=True, type=Path)
    parser.add_argument("--comparison", type=Path, nargs="?", help="if there is one")
    parser.add_argument("--datasets", type=Path, help="folder of fetched datasets")
    parser.add_argument("--output", required=True, type=Path, help="folder of figures")
    parser.set_defaults(command=_figures)


def _figures(options: argparse.Namespace) -> int:
    from onlinefa_benchmark import experiments
    from onlinefa_benchmark.reporting.figures import write_figures

    own = read_config(options).experiments[options.experiment]
    write_figures(
        experiments.load(options.experiment),
        options.summary,
        options.comparison,
        options.output,
        added=own.metrics or (),
        data=options.datasets,
    )
    return 0
