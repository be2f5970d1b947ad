"""``onlinefa verify``: fail, with the reasons, if any cell has failed."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from onlinefa_benchmark.cli.common import add_config_options, errors_in_one_line, read_bundles

if TYPE_CHECKING:
    from onlinefa_benchmark.cli.common import Commands


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser("verify", help="fail, with the reasons, if any cell has failed")
    add_config_options(parser)
    parser.add_argument("--logs", required=True, type=Path, help="folder of the logs of fits")
    parser.add_argument("--output", required=True, type=Path)
    parser.set_defaults(command=_verify)


def _verify(options: argparse.Namespace) -> int:
    from onlinefa_benchmark.analysis.failures import find_failures
    from onlinefa_benchmark.atomic_file import atomic

    _, bundles = read_bundles(options)
    with errors_in_one_line():
        failures = list(find_failures(bundles, options.cells))
    for failure in failures:
        log = options.logs / f"{failure.bundle.name}.log"
        cell = failure.cell
        print(f"{cell.experiment}, {cell}: {failure.reason} ({log})", file=sys.stderr)
    if failures:
        return 1
    with atomic(options.output) as temporary:
        temporary.write_text("No cell has failed.\n")
    return 0
