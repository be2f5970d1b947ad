"""Errors of a cell: whether the cell or the machine is the cause, and the message for readers."""

from __future__ import annotations

import errno
import traceback
from collections.abc import Iterator

LONGEST_MESSAGE = 2000
"""Characters of a message, so that a table of all cells can hold it."""
_LONGEST_LINE = 300
# PyTorch and JAX have errors of their own; PyTorch on the CPU raises a plain RuntimeError.
_OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "RESOURCE_EXHAUSTED")


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether the same fit may succeed with more memory."""
    return any(_lacks_memory(each) for each in _with_causes(error))


def is_machine_error(error: BaseException) -> bool:
    """Return whether files cannot be read or written, so that no later result can be trusted."""
    return any(
        isinstance(each, OSError) and not _lacks_memory(each) for each in _with_causes(error)
    )


def describe(error: BaseException) -> str:
    """Return what went wrong in one line, followed by the last lines of the traceback."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    kind = type(error).__name__
    first = f"{kind}: {lines[0].strip()}" if lines else kind
    return format_message(first, "".join(traceback.format_exception(error)))


def format_message(first: str, details: str) -> str:
    """Return one line, followed by as many last lines of the details as there is room for."""
    first = first[:_LONGEST_LINE]
    kept: list[str] = []
    room = LONGEST_MESSAGE - len(first)
    for line in reversed(details.rstrip().splitlines()):
        room -= len(line) + 1
        if room < 0:
            break
        kept.insert(0, line)
    # Parquet's text is UTF-8, and a library may quote bytes that are not.
    text = "\n".join([first, *kept])
    return text.encode(errors="backslashreplace").decode()[:LONGEST_MESSAGE]


def _lacks_memory(error: BaseException) -> bool:
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    kinds = {kind.__name__ for kind in type(error).__mro__}  # so that PyTorch is not imported
    return bool(kinds & {"MemoryError", "OutOfMemoryError"}) or (
        isinstance(error, RuntimeError) and any(sign in str(error) for sign in _OUT_OF_MEMORY)
    )


def _with_causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error, and the errors that it was raised from."""
    while error is not None:
        yield error
        error = error.__cause__
