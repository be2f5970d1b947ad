"""Announcement of a compilation, which takes up to a minute and would look like a hang."""

from __future__ import annotations

import logging

from numba.core.event import Event, Listener, register

log = logging.getLogger(__name__)


class CompilationAnnouncement(Listener):
    """Listener that logs one line when a kernel of this package is first compiled in a process.

    numba reports a compilation only if it does not find the compiled code in its cache.
    """

    def __init__(self) -> None:
        self._announced = False

    def on_start(self, event: Event) -> None:
        """Log the first compilation of a kernel of this package."""
        module = event.data["dispatcher"].py_func.__module__ or ""  # None for generated functions
        if self._announced or not module.startswith("onlinefa."):
            return
        self._announced = True
        # A warning, because Python does not show lower levels unless logging is configured.
        log.warning(
            "onlinefa compiles its kernels, once for each type of number; this takes up to a minute"
        )

    def on_end(self, event: Event) -> None:
        """Do nothing."""


def announce_compilations() -> None:
    """Log a line before the first compilation of a kernel in this process."""
    register("numba:compile", CompilationAnnouncement())  # type: ignore[no-untyped-call]
