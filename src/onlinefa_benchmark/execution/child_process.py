"""Work in a child process, so that the parent can report which cells a killed child worked on.

The kernel kills processes that take too much memory, without notice. The parent imports no large
module and only waits, so that the child is the larger process and the one that is killed.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from onlinefa_benchmark.execution.errors import LONGEST_MESSAGE, format_message

Begin = Callable[[Iterable[str]], None]
"""Report the names of cells that are about to be fitted, or none when they are done."""
Work = Callable[[Begin, Mapping[str, str]], int]
"""Fit cells and return an exit code, given `Begin` and the lost cells with their reasons."""

# Requests to stop, which are not failures: the job is preempted, its time is over, or Ctrl-C was
# pressed.
_REQUESTS = (signal.SIGTERM, signal.SIGINT)
_PR_SET_PDEATHSIG = 1


def supervise(work: Work, is_last_attempt: bool) -> int:
    """Run work in a child process, and again without the lost cells if the child is killed.

    Parameters
    ----------
    work : callable
        The work.
    is_last_attempt : bool
        Whether cells that a killed child worked on are lost. If so, a new child does the rest.

    Returns
    -------
    int
        The exit code of the work, or 128 plus the number of the signal that ended it.
    """
    lost: dict[str, str] = {}
    while True:
        notice = Notice()
        code, was_asked = _run(work, notice, lost)
        if code >= 0:
            return code
        begun = set(notice.read()) - lost.keys()
        if not is_last_attempt or was_asked or -code in _REQUESTS or not begun:
            return 128 - code
        reason = format_message(_describe_signal(-code), _tail_of_log())
        print(f"{reason.splitlines()[0]}; the other cells continue", file=sys.stderr)
        lost |= dict.fromkeys(begun, reason)


class Notice:
    """The cells that the child works on, in memory that it shares with its parent."""

    def __init__(self) -> None:
        # Room for the names of 30,000 cells; the system allocates pages when they are written.
        self._memory = mmap.mmap(-1, 2**20)

    def write(self, names: Iterable[str]) -> None:
        """Replace the names."""
        text = "\n".join(names).encode()
        self._memory[: len(text) + 1] = text + b"\0"

    def read(self) -> list[str]:
        """Return the names."""
        return self._memory[: self._memory.find(b"\0")].decode().split()


def _run(work: Work, notice: Notice, lost: Mapping[str, str]) -> tuple[int, bool]:
    """Run a child; return its `waitstatus_to_exitcode`, and whether it was signalled to stop."""
    parent = os.getpid()
    asked: list[int] = []
    # Requests wait until there is a child to forward them to.
    with _blocked(_REQUESTS):
        child = os.fork()
        if child == 0:
            _run_child(parent, work, notice, lost)

        def forward(number: int, _: object) -> None:
            asked.append(number)
            with suppress(ProcessLookupError):
                os.kill(child, number)

        before = {number: signal.signal(number, forward) for number in _REQUESTS}
    try:
        _, status = os.waitpid(child, 0)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return os.waitstatus_to_exitcode(status), bool(asked)


def _run_child(parent: int, work: Work, notice: Notice, lost: Mapping[str, str]) -> NoReturn:
    """Do the work and end the process, so that only the parent continues the caller's code."""
    code = 1
    try:
        _die_with(parent)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _REQUESTS)
        code = work(notice.write, lost)
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        try:  # Ctrl-C arrives twice: from the terminal, and forwarded
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def _die_with(parent: int) -> None:
    """Kill the child when its parent ends, which only Linux supports."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(1)


@contextmanager
def _blocked(signals: Iterable[signal.Signals]) -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _describe_signal(number: int) -> str:
    known = {int(each): each.name for each in signal.Signals}
    text = f"killed by signal {number}, {known.get(number, 'unknown')}"
    return f"{text}: out of memory?" if number == signal.SIGKILL else text


def _tail_of_log() -> str:
    """Return the end of the standard error, if it goes to a file."""
    log = Path("/proc/self/fd/2")
    if not log.is_file():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LONGEST_MESSAGE))
        return file.read().decode(errors="replace")
