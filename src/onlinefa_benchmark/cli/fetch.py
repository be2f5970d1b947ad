"""``onlinefa fetch``: fetch one dataset."""

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
    parser.add_argument("dataset")
    parser.add_argument("--output", required=True, type=Path, help="DATASET.npy, in any folder")
    parser.set_defaults(command=_fetch)


def _fetch(options: argparse.Namespace) -> int:
    from onlinefa_benchmark import datasets
    from onlinefa_benchmark.datasets.base import DataUnavailable

    own = os.environ.get("ONLINEFA_DATA_DIR")
    folder = Path(own).expanduser() if own else None
    try:
        datasets.load(options.dataset, folder, cache=options.output.parent)
    except DataUnavailable as error:
        raise UserError(f"\n{error}") from error
    return 0
