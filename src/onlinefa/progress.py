"""A fit that takes long says in its log now and then how far it is; a short one says nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import TypeVar

log = logging.getLogger(__name__)

SECONDS_BETWEEN_LINES = 10.0

_Item = TypeVar("_Item")
_what = ""


@contextmanager
def about(what: str) -> Iterator[None]:
    """Lines that are written meanwhile begin with what they are about."""
    global _what
    before, _what = _what, f"{what}: "
    try:
        yield
    finally:
        _what = before


class Pace:
    """Of a loop over so many of a unit. A look at the clock is all that it costs."""

    def __init__(self, total: int, unit: str, clock: Callable[[], float] = perf_counter) -> None:
        self._total = total
        self._unit = unit
        self._clock = clock
        self._start = self._last = clock()
        self._skipped = 0

    def skip(self, done: int) -> None:
        """So many are done that took no time worth speaking of: nothing follows for the others."""
        self._skipped = done

    def reach(self, done: int) -> None:
        """So many are done by now."""
        now = self._clock()
        if now - self._last < SECONDS_BETWEEN_LINES or done >= self._total:
            return
        self._last = now
        spent = now - self._start
        left = spent * (self._total - done) / max(done - self._skipped, 1)
        log.info(
            "%s%s of %s %s, %.0f s, about %.0f s left",
            _what, f"{done:,}", f"{self._total:,}", self._unit, spent, left,
        )  # fmt: skip


def paced(
    items: Sequence[_Item], unit: str, clock: Callable[[], float] = perf_counter
) -> Iterator[_Item]:
    """The items, one after the other, for a loop that says how many of them are done."""
    pace = Pace(len(items), unit, clock)
    for done, item in enumerate(items, start=1):
        yield item
        pace.reach(done)
