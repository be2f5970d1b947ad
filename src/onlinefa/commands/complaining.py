"""What is wrong with results is told in one line, whichever command finds it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import wraps

Command = Callable[[argparse.Namespace], int]


def in_one_line(command: Command) -> Command:
    """The command, of which a file that cannot be aggregated is a line and an exit code."""

    @wraps(command)
    def complaining(options: argparse.Namespace) -> int:
        from onlinefa.results import ResultError

        try:
            return command(options)
        except ResultError as error:
            print(error, file=sys.stderr)
            return 1

    return complaining
