"""``onlinefa fit``: fit the cells of one job."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onlinefa_benchmark.cells import Bundle
    from onlinefa_benchmark.cli.common import Commands
    from onlinefa_benchmark.execution.child_process import Begin


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser("fit", help="fit the cells of one job")
    parser.add_argument("bundle", help="name of the job")
    parser.add_argument("--config", required=True, type=Path, help="checked configuration (JSON)")
    parser.add_argument("--digest", required=True, help="digest of the job when it was planned")
    parser.add_argument("--store", required=True, type=Path, help="folder of finished cells")
    parser.add_argument("--tables", required=True, type=Path, help="folder of fetched datasets")
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--events", type=Path, help="file for events, one JSON object a line")
    parser.add_argument("--attempt", type=int, default=1, help="number of this attempt")
    parser.add_argument("--attempts", type=int, default=1, help="number of attempts in all")
    parser.set_defaults(command=_fit)


def _fit(options: argparse.Namespace) -> int:
    from onlinefa_benchmark.execution.child_process import supervise

    is_last = options.attempt >= options.attempts
    return supervise(lambda begin, lost: _fit_cells(options, is_last, begin, lost), is_last)


def _fit_cells(
    options: argparse.Namespace, is_last: bool, begin: Begin, lost: Mapping[str, str]
) -> int:
    from onlinefa_benchmark.execution import checkpoint
    from onlinefa_benchmark.execution.devices import NoDevice
    from onlinefa_benchmark.execution.events import EventFile
    from onlinefa_benchmark.execution.fit import Job, OutOfMemory, fit_bundle
    from onlinefa_benchmark.storage.store import Store

    bundle = _find_bundle(options)
    if bundle is None:
        print(
            "the source, the libraries or the configuration differ from those that this job was "
            "planned with: run snakemake again, with the same environment for planning and jobs",
            file=sys.stderr,
        )
        return 1
    stop_requests = checkpoint.StopRequests()
    stop_requests.listen()
    job = Job(
        Store(options.store),
        options.tables,
        is_last_attempt=is_last,
        begin=begin,
        killed=lost,
        events=EventFile(options.events, append=bool(lost)),
        stop_requests=stop_requests,
    )
    try:
        fit_bundle(bundle, job, options.output)
    except checkpoint.Interrupted as reason:
        print(f"{reason}; the next attempt continues from there", file=sys.stderr)
        return checkpoint.EXIT_CODE
    except (NoDevice, OSError, OutOfMemory) as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


def _find_bundle(options: argparse.Namespace) -> Bundle | None:
    """Return the job; None if it is not the one that was planned."""
    from onlinefa_benchmark.cli.common import read_config
    from onlinefa_benchmark.grid import bundles

    experiment = options.bundle.split("/")[0]
    jobs = {bundle.name: bundle for bundle in bundles(read_config(options), [experiment])}
    bundle = jobs.get(options.bundle)
    try:
        return bundle if bundle and bundle.digest() == options.digest else None
    except PackageNotFoundError:
        return None
