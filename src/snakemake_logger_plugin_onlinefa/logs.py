"""What the log of a fit job says of its cells (`onlinefa.fitting` writes it)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from snakemake_logger_plugin_onlinefa.counting import Fits

_TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} "
_LINE = re.compile(_TIME + r"(.+?)(?:: (fitting)|: done in ([\d.]+) s| (failed))")


class Log:
    """A file that grows, and of which only what is new is read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0
        # What an earlier run or attempt has left is there until the job begins.
        self._last = self._stamp()

    def lines(self) -> Iterator[str]:
        """Those that are new, and whole."""
        stamp = self._stamp()
        if stamp == self._last:
            return
        self._last = stamp
        try:
            with self._path.open("rb") as file:
                if stamp[1] < self._read:
                    self._read = 0
                file.seek(self._read)
                new = file.read()
        except OSError:
            return
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        yield from whole.decode(errors="replace").splitlines()

    def _stamp(self) -> tuple[int, int]:
        try:
            status = self._path.stat()
        except OSError:
            return 0, 0
        return status.st_mtime_ns, status.st_size


def follow(log: Log, job: str, fits: Fits) -> None:
    """Tell the fits what is new in the log of their job."""
    for line in log.lines():
        said = _LINE.fullmatch(line)
        if said is None:
            continue
        names = said[1].split("; ")
        if said[2]:
            fits.fitting(job, names)
        elif said[3]:
            fits.done(job, names, float(said[3]))
        else:
            fits.failed(job, names)
