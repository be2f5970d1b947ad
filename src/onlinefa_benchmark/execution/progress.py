"""Progress of long fits: a line in the log every few seconds; short fits write nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import TypeVar

log = logging.getLogger(__name__)

SECONDS_BETWEEN_LINES = 10.0

T = TypeVar("T")


class LoggedProgress:
    """Progress of loops, reported in lines of the log.

    Parameters
    ----------
    subject : str
        What the lines are about.
    clock : callable
        Return the time in seconds.
    """

    def __init__(self, subject: str, clock: Callable[[], float] = perf_counter) -> None:
        self._prefix = f"{subject}: " if subject else ""
        self._clock = clock

    def start(self, total: int, unit: str) -> LoggedPace:
        """Begin a loop over `total` units."""
        return LoggedPace(total, unit, self._prefix, self._clock)

    def over(self, items: Sequence[T], unit: str) -> Iterator[T]:
        """Iterate over items and report how many are done."""
        pace = self.start(len(items), unit)
        for done, item in enumerate(items, start=1):
            yield item
            pace.reach(done)


class LoggedPace:
    """The progress of one loop; a step only reads the clock."""

    def __init__(self, total: int, unit: str, prefix: str, clock: Callable[[], float]) -> None:
        self._total = total
        self._unit = unit
        self._prefix = prefix
        self._clock = clock
        self._start = self._last = clock()
        self._skipped = 0

    def skip(self, done: int) -> None:
        """Exclude `done` units of an earlier attempt from the estimated speed."""
        self._skipped = done

    def reach(self, done: int) -> None:
        """Report that `done` units are done."""
        now = self._clock()
        if now - self._last < SECONDS_BETWEEN_LINES or done >= self._total:
            return
        self._last = now
        spent = now - self._start
        left = spent * (self._total - done) / max(done - self._skipped, 1)
        log.info(
            "%s%s of %s %s, %.0f s, about %.0f s left",
            self._prefix,
            f"{done:,}",
            f"{self._total:,}",
            self._unit,
            spent,
            left,
        )
