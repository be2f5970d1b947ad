"""The command line: what each rule of the workflow calls, and what people ask.

`python -m onlinefa --help`.
"""

from __future__ import annotations

import argparse
import logging
import sys

from onlinefa.commands import KINDS


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    logging.basicConfig(format="%(asctime)s %(message)s", stream=sys.stderr)
    logging.getLogger("onlinefa").setLevel(logging.INFO)
    status: int = options.command(options)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m onlinefa",
        description="What the rules of the workflow call, and what people ask: plan, show, doctor.",
    )
    commands = parser.add_subparsers(required=True)
    for kind in KINDS:
        kind.add(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
