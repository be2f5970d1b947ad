"""``onlinefa fetch``: fetch one dataset or one file of weights."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from onlinefa_benchmark.cli.common import UserError

if TYPE_CHECKING:
    from onlinefa_benchmark.cli.common import Commands


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "fetch", help="fetch one dataset; the folder ONLINEFA_DATA_DIR is searched first"
    )
    parser.add_argument("dataset", help="name of a table, an image set, or a file of weights")
    parser.add_argument(
        "--output", required=True, type=Path, help="DATASET.npy (weights: .pth), in any folder"
    )
    parser.set_defaults(command=_fetch)


def _fetch(options: argparse.Namespace) -> int:
    from onlinefa_benchmark import datasets
    from onlinefa_benchmark.datasets.base import DataUnavailable

    own = os.environ.get("ONLINEFA_DATA_DIR")
    folder = Path(own).expanduser() if own else None
    expected = datasets.file_name(options.dataset)
    if options.output.name != expected:
        raise UserError(f"--output: the name of the file must be {expected}")
    try:
        datasets.fetch(options.dataset, folder, options.output.parent)
    except DataUnavailable as error:
        raise UserError(f"\n{error}") from error
    return 0
