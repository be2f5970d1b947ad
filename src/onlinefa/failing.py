"""An exception of a cell: whose fault it is, and what is told of it."""

from __future__ import annotations

import errno
import traceback
from collections.abc import Iterator

LONGEST = 2000
"""Characters of a message: what a table of all cells can hold."""
_LONGEST_LINE = 300
# PyTorch and JAX say so in an error of their own, and PyTorch on the CPU in a plain one.
_NO_MEMORY = ("can't allocate memory", "not enough memory", "RESOURCE_EXHAUSTED")


def is_for_want_of_memory(error: BaseException) -> bool:
    """Whether the same fit may succeed where there is more memory."""
    return any(_wants_memory(each) for each in _with_causes(error))


def is_of_the_machine(error: BaseException) -> bool:
    """Whether files cannot be read or written: no later result could be trusted either."""
    return any(
        isinstance(each, OSError) and not _wants_memory(each) for each in _with_causes(error)
    )


def message_of(error: BaseException) -> str:
    """What went wrong in one line, and then the last lines of where."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    kind = type(error).__name__
    first = f"{kind}: {lines[0].strip()}" if lines else kind
    return message(first, "".join(traceback.format_exception(error)))


def message(first: str, details: str) -> str:
    """One line, and as much of the end of the details as there is room for, in whole lines."""
    first = first[:_LONGEST_LINE]
    kept: list[str] = []
    room = LONGEST - len(first)
    for line in reversed(details.rstrip().splitlines()):
        room -= len(line) + 1
        if room < 0:
            break
        kept.insert(0, line)
    # Parquet's text is UTF-8, and what a library quotes may be anything.
    return "\n".join([first, *kept]).encode(errors="backslashreplace").decode()[:LONGEST]


def _wants_memory(error: BaseException) -> bool:
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    kinds = {kind.__name__ for kind in type(error).__mro__}  # PyTorch is not imported for its name
    return bool(kinds & {"MemoryError", "OutOfMemoryError"}) or (
        isinstance(error, RuntimeError) and any(sign in str(error) for sign in _NO_MEMORY)
    )


def _with_causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and what it was raised from."""
    while error is not None:
        yield error
        error = error.__cause__
