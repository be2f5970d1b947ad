"""Commands of single jobs: fetch a dataset, fit cells."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onlinefa.commands import Commands
    from onlinefa.supervising import Begin


def add(commands: Commands) -> None:
    fetch = commands.add_parser(
        "fetch", help="fetch one dataset; ONLINEFA_DATA_DIR is searched first"
    )
    fetch.add_argument("dataset")
    fetch.add_argument("--output", required=True, type=Path, help="DATASET.npy, in any folder")
    fetch.set_defaults(command=_fetch)

    fit = commands.add_parser("fit", help="fit the cells of one job")
    fit.add_argument("--bundle", required=True, help="the cells, as JSON")
    fit.add_argument("--code", required=True, help="digest of the source the job was planned with")
    fit.add_argument("--store", required=True, type=Path, help="folder of finished cells")
    fit.add_argument("--tables", required=True, type=Path, help="folder of fetched datasets")
    fit.add_argument("--output", required=True, type=Path)
    fit.add_argument("--attempt", type=int, default=1, help="the next one has more memory")
    fit.add_argument("--attempts", type=int, default=1, help="there is none after the last")
    fit.set_defaults(command=_fit)


def _fetch(options: argparse.Namespace) -> int:
    from onlinefa import data
    from onlinefa.data.sources import DataUnavailable

    try:
        own = os.environ.get("ONLINEFA_DATA_DIR")
        folder = Path(own).expanduser() if own else None
        data.load(options.dataset, folder, cache=options.output.parent)
    except DataUnavailable as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    return 0


def _fit(options: argparse.Namespace) -> int:
    from onlinefa.supervising import supervise

    is_last = options.attempt >= options.attempts
    return supervise(lambda begin, lost: _fit_cells(options, is_last, begin, lost), is_last)


def _fit_cells(
    options: argparse.Namespace, is_last: bool, begin: Begin, lost: Mapping[str, str]
) -> int:
    from onlinefa import checkpoints
    from onlinefa.cell import Bundle
    from onlinefa.devices import NoDevice
    from onlinefa.fitting import OutOfMemory, fit_bundle
    from onlinefa.results import Store

    bundle = Bundle.from_json(options.bundle)
    try:
        code = bundle.code
    except PackageNotFoundError as missing:
        code = str(missing)
    if code != options.code:
        print(
            "the source or the libraries are not those that this job was planned with: "
            "run snakemake again, in one environment",
            file=sys.stderr,
        )
        return 1
    checkpoints.listen()
    try:
        fit_bundle(
            bundle, Store(options.store), options.tables, options.output,
            is_last_attempt=is_last, begin=begin, killed=lost,
        )  # fmt: skip
    except checkpoints.Interrupted as reason:
        print(f"{reason}; the next attempt goes on from there", file=sys.stderr)
        return checkpoints.EXIT_CODE
    except (NoDevice, OSError, OutOfMemory) as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0
