"""The command ``onlinefa``, which users and the rules of the workflow call.

Each command has its own file. A command imports what it needs when it runs, because importing takes
longer than many jobs.
"""

from __future__ import annotations

import argparse
import logging
import sys
from importlib import import_module
from importlib.util import find_spec

# Commands for users first, then those that the rules of the workflow call.
COMMANDS = (
    "plan",
    "show",
    "doctor",
    "add_seeds",
    "schema",
    "fetch",
    "fit",
    "aggregate",
    "figures",
    "tables",
    "coverage",
    "report",
    "partial_report",
    "more_seeds",
    "verify",
)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit code."""
    if find_spec("pydantic") is None or find_spec("pyarrow") is None:
        print(
            "the command onlinefa needs the benchmark's packages: "
            "pip install 'onlinefa[benchmark]'",
            file=sys.stderr,
        )
        return 1
    options = _parser().parse_args(arguments)
    logging.basicConfig(format="%(asctime)s %(message)s", stream=sys.stderr)
    for package in ("onlinefa", "onlinefa_benchmark"):
        logging.getLogger(package).setLevel(logging.INFO)
    return _run(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="onlinefa",
        description="Plan and inspect runs of the benchmark. The rules of the workflow call the "
        "other commands.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name in COMMANDS:
        import_module(f"{__name__}.{name}").add_parser(commands)
    return parser


def _run(options: argparse.Namespace) -> int:
    """Run a command; report an expected error in one line, with exit code 1."""
    from onlinefa_benchmark.cli.common import UserError

    try:
        status: int = options.command(options)
        return status
    except UserError as error:
        print(error, file=sys.stderr)
        return 1
