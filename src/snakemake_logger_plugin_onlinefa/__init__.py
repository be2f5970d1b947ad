"""Snakemake's logger `onlinefa`: how many cells are fitted, and how long the others will take.

Dry runs, and runs with `--quiet` or `--quiet progress`, look as they do without it. Snakemake loads
every logger it finds, inside of its jobs, too: what this one needs is imported when it is used.
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

# What the display says in fewer words, or what says nothing about the run. The file under
# .snakemake/log that is named at its end has it all.
_SILENT_EVENTS = {
    LogEvent.WORKFLOW_STARTED, LogEvent.RUN_INFO, LogEvent.RESOURCES_INFO, LogEvent.RULEGRAPH,
    LogEvent.JOB_INFO, LogEvent.GROUP_INFO, LogEvent.JOB_STARTED, LogEvent.JOB_FINISHED,
    LogEvent.SHELLCMD, LogEvent.PROGRESS,
}  # fmt: skip
_SILENT_TEXTS = re.compile(
    "None$|Assuming unrestricted shared filesystem|Building DAG of jobs|Using shell"
    r"|Conda environments: ignored|Select jobs to execute|Job rate limit reached|Processed \d+ "
    r"|SLURM run ID|Job \d+ has been submitted|Submitted array job"
)
_COLOURS = {logging.WARNING: "yellow", logging.ERROR: "red", logging.CRITICAL: "red"}

_SECONDS_BETWEEN_LOOKS = 1.0
_SHARE_OF_LOOKING = 0.05  # of the time, at most, however slow the file system is


class LogHandler(LogHandlerBase):
    """What Snakemake calls with all that it has to say."""

    def __post_init__(self) -> None:
        from snakemake.logging import (
            ColorizingTextHandler,
            DefaultFilter,
            DefaultFormatter,
            is_quiet_about,
        )

        told = self.common_settings
        stream = sys.stdout if told.stdout else sys.stderr
        self.setFormatter(DefaultFormatter(told.quiet, told.show_failed_logs))
        self._filter = DefaultFilter(
            told.quiet, told.debug_dag, told.verbose, told.dryrun, told.printshellcmds
        )
        self._plain = ColorizingTextHandler(told.nocolor, stream, self.formatter)
        self._counts = not told.dryrun and not is_quiet_about(told.quiet or (), "progress")
        self._in_detail = not self._counts or told.verbose or told.printshellcmds or told.debug_dag
        self._display: Display | None = None
        self._access = Lock()
        self._closing = Event()

    def emit(self, record: LogRecord) -> None:
        try:
            with self._access:
                event = getattr(record, "event", None)
                if self._counts and event == LogEvent.RUN_INFO and self._display is None:
                    self._watch()
                if self._display is not None:
                    self._run.note(record)
                    if event == LogEvent.JOB_INFO:  # the first of which is the beginning
                        self._display.show(list(self._run.rows()))
                if self._filter.filter(record) and (self._in_detail or _is_news(record)):
                    self._say(record if self._in_detail else _shortened(record))
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """Called at the end of the run, and again when Python exits."""
        self._closing.set()
        with self._access:
            if self._display is not None:
                self._run.look()
                self._run.stop()
                self._display.close(list(self._run.rows()))
                self._display = None
        super().close()

    def _watch(self) -> None:
        from snakemake_logger_plugin_onlinefa.display import Bars, Lines
        from snakemake_logger_plugin_onlinefa.watching import Run

        self._run = Run(monotonic)
        stream, is_dumb = self._plain.stream, os.environ.get("TERM") == "dumb"
        self._display = (
            Bars(stream, colours=not self._plain.nocolor)
            if self._plain.is_tty and not is_dumb
            else Lines(stream, monotonic)
        )
        Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        pause = _SECONDS_BETWEEN_LOOKS
        while not self._closing.wait(pause):
            start = monotonic()
            with self._access:
                if self._display is None:
                    return
                self._run.look()
                self._display.show(list(self._run.rows()))
            pause = max(_SECONDS_BETWEEN_LOOKS, (monotonic() - start) / _SHARE_OF_LOOKING)

    def _say(self, record: LogRecord) -> None:
        if self._display is None:
            self._plain.emit(record)
        elif (message := self.format(record)) not in ("", "None"):
            self._display.say(message, _COLOURS.get(record.levelno, ""))

    @property
    def writes_to_stream(self) -> bool:
        return True

    @property
    def writes_to_file(self) -> bool:
        return False

    @property
    def has_filter(self) -> bool:
        """What is not shown counts all the same."""
        return True

    @property
    def has_formatter(self) -> bool:
        return True

    @property
    def needs_rulegraph(self) -> bool:
        return False


def _is_news(record: LogRecord) -> bool:
    if record.levelno >= logging.WARNING:
        return True
    event = getattr(record, "event", None)
    return event not in _SILENT_EVENTS and not _SILENT_TEXTS.match(record.getMessage())


def _shortened(record: LogRecord) -> LogRecord:
    """Without inputs and the command, which fill a screen where a job reads all cells."""
    if getattr(record, "event", None) != LogEvent.JOB_ERROR:
        return record
    shorter = copy(record)
    vars(shorter).update(input=[], shellcmd=None)
    return shorter
