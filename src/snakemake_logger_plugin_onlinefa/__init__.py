"""Snakemake's logger plugin ``onlinefa``: the progress of a run in cells, and the time left.

Dry runs, and runs with ``--quiet`` or ``--quiet progress``, look as they do without the plugin.
Snakemake loads every logger plugin that it finds, in its jobs as well. The plugin therefore imports
its other modules only when they are used.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from copy import copy
from logging import LogRecord
from threading import Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

if TYPE_CHECKING:
    from snakemake_logger_plugin_onlinefa.display import Display

# Messages that the display replaces, or that are of no interest to users. The file under
# .snakemake/log that is named at the end of a run has all of them.
_SILENT_EVENTS = {
    LogEvent.WORKFLOW_STARTED,
    LogEvent.RUN_INFO,
    LogEvent.RESOURCES_INFO,
    LogEvent.RULEGRAPH,
    LogEvent.JOB_INFO,
    LogEvent.GROUP_INFO,
    LogEvent.JOB_STARTED,
    LogEvent.JOB_FINISHED,
    LogEvent.SHELLCMD,
    LogEvent.PROGRESS,
}
_SILENT_TEXTS = re.compile(
    "None$|Assuming unrestricted shared filesystem|Building DAG of jobs|Using shell"
    r"|Conda environments: ignored|Select jobs to execute|Job rate limit reached|Processed \d+ "
    r"|SLURM run ID|Job \d+ has been submitted|Submitted array job"
)
_COLOURS = {logging.WARNING: "yellow", logging.ERROR: "red", logging.CRITICAL: "red"}

_SECONDS_BETWEEN_UPDATES = 1.0
_LARGEST_SHARE = 0.05  # of the time that updates take, however slow the file system is


class LogHandler(LogHandlerBase):
    """Handler of Snakemake's messages."""

    def __post_init__(self) -> None:
        from snakemake.logging import (
            ColorizingTextHandler,
            DefaultFilter,
            DefaultFormatter,
            is_quiet_about,
        )

        given = self.common_settings
        stream = sys.stdout if given.stdout else sys.stderr
        self.setFormatter(DefaultFormatter(given.quiet, given.show_failed_logs))
        self._filter = DefaultFilter(
            given.quiet, given.debug_dag, given.verbose, given.dryrun, given.printshellcmds
        )
        self._plain = ColorizingTextHandler(given.nocolor, stream, self.formatter)
        self._counts = not given.dryrun and not is_quiet_about(given.quiet or (), "progress")
        wants_details = given.verbose or given.printshellcmds or given.debug_dag
        self._in_detail = not self._counts or wants_details
        self._display: Display | None = None
        self._access = Lock()
        self._closing = Event()

    def emit(self, record: LogRecord) -> None:
        """Update the run's state from a message, and show it unless the display replaces it."""
        try:
            with self._access:
                event = getattr(record, "event", None)
                if self._counts and event == LogEvent.RUN_INFO and self._display is None:
                    self._watch()
                if self._display is not None:
                    self._run.note(record)
                    if event == LogEvent.JOB_INFO:  # the display appears with the first job
                        self._display.show(list(self._run.rows()))
                if self._filter.filter(record) and (self._in_detail or _is_shown(record)):
                    self._show(record if self._in_detail else _shorten(record))
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """Close the display, at the end of the run and again when Python exits."""
        self._closing.set()
        with self._access:
            if self._display is not None:
                self._run.update()
                self._run.stop()
                self._display.close(list(self._run.rows()))
                self._display = None
        super().close()

    def _watch(self) -> None:
        from snakemake_logger_plugin_onlinefa.display import Bars, Lines
        from snakemake_logger_plugin_onlinefa.run_state import RunState

        self._run = RunState(monotonic)
        stream, is_dumb = self._plain.stream, os.environ.get("TERM") == "dumb"
        self._display = (
            Bars(stream, colours=not self._plain.nocolor)
            if self._plain.is_tty and not is_dumb
            else Lines(stream, monotonic)
        )
        Thread(target=self._update, daemon=True).start()

    def _update(self) -> None:
        pause = _SECONDS_BETWEEN_UPDATES
        while not self._closing.wait(pause):
            start = monotonic()
            with self._access:
                if self._display is None:
                    return
                self._run.update()
                self._display.show(list(self._run.rows()))
            pause = max(_SECONDS_BETWEEN_UPDATES, (monotonic() - start) / _LARGEST_SHARE)

    def _show(self, record: LogRecord) -> None:
        if self._display is None:
            self._plain.emit(record)
        elif (message := self.format(record)) not in ("", "None"):
            self._display.print(message, _COLOURS.get(record.levelno, ""))

    @property
    def writes_to_stream(self) -> bool:
        """Whether the plugin writes to a stream."""
        return True

    @property
    def writes_to_file(self) -> bool:
        """Whether the plugin writes to a file."""
        return False

    @property
    def has_filter(self) -> bool:
        """Whether the plugin filters messages itself; it counts those that it does not show."""
        return True

    @property
    def has_formatter(self) -> bool:
        """Whether the plugin formats messages itself."""
        return True

    @property
    def needs_rulegraph(self) -> bool:
        """Whether the plugin needs the graph of rules."""
        return False


def _is_shown(record: LogRecord) -> bool:
    if record.levelno >= logging.WARNING:
        return True
    event = getattr(record, "event", None)
    return event not in _SILENT_EVENTS and not _SILENT_TEXTS.match(record.getMessage())


def _shorten(record: LogRecord) -> LogRecord:
    """Return an error without inputs and command, which can fill a screen."""
    if getattr(record, "event", None) != LogEvent.JOB_ERROR:
        return record
    shorter = copy(record)
    vars(shorter).update(input=[], shellcmd=None)
    return shorter
