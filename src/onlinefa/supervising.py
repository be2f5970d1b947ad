"""Work in a child process, so that word is left of what it was at when it is killed.

The kernel kills who takes too much memory, and asks nobody. The parent imports nothing and does
nothing but wait: it is the child that grows large, and the child that dies.
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

from onlinefa.failing import LONGEST, message

Begin = Callable[[Iterable[str]], None]
"""Told the names of what is begun now; of nothing, when it is done."""
Work = Callable[[Begin, Mapping[str, str]], int]
"""Told whom to tell, and what is lost already, with the reason; gives the exit code."""

# Being asked to stop is nobody's failure: a job is preempted, or its time is over, or Ctrl-C.
_REQUESTS = (signal.SIGTERM, signal.SIGINT)
_PR_SET_PDEATHSIG = 1


def supervise(work: Work, is_last_attempt: bool) -> int:
    """The exit code of the work, or 128 and the number of the signal that ended it.

    On the last attempt, what a killed child was at is lost, and a new child does the rest.
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
        reason = message(_reason(-code), _tail_of_log())
        print(f"{reason.splitlines()[0]}; the others go on", file=sys.stderr)
        lost |= dict.fromkeys(begun, reason)


class Notice:
    """What the child is at, in memory that it shares with its parent, and that outlives it."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 2**20)  # the names of 30,000 cells; pages come when written

    def write(self, names: Iterable[str]) -> None:
        text = "\n".join(names).encode()
        self._memory[: len(text) + 1] = text + b"\0"

    def read(self) -> list[str]:
        return self._memory[: self._memory.find(b"\0")].decode().split()


def _run(work: Work, notice: Notice, lost: Mapping[str, str]) -> tuple[int, bool]:
    """How a child ended, as `waitstatus_to_exitcode` has it, and whether it was asked to."""
    parent = os.getpid()
    asked: list[int] = []
    # Until there is a child to forward them to, requests wait.
    with _blocked(_REQUESTS):
        child = os.fork()
        if child == 0:
            _be_the_child(parent, work, notice, lost)

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


def _be_the_child(parent: int, work: Work, notice: Notice, lost: Mapping[str, str]) -> NoReturn:
    """What called this is the parent's: the child ends here."""
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
        try:  # Ctrl-C comes twice: from the terminal, and forwarded
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def _die_with(parent: int) -> None:
    """No child goes on alone when its parent is killed; only Linux can do that."""
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


def _reason(number: int) -> str:
    known = {int(each): each.name for each in signal.Signals}
    what = f"killed by signal {number}, {known.get(number, 'unknown')}"
    return f"{what}: out of memory?" if number == signal.SIGKILL else what


def _tail_of_log() -> str:
    """The end of what was printed, if that goes into a file."""
    log = Path("/proc/self/fd/2")
    if not log.is_file():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LONGEST))
        return file.read().decode(errors="replace")
