"""Displays of progress: bars at the bottom of a terminal, or lines at intervals."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TextIO

from snakemake_logger_plugin_onlinefa.run_state import Row

if TYPE_CHECKING:
    from rich.progress import TaskID

_SECONDS_BETWEEN_LINES = 30
_TEXT_WIDTH = 70  # of the words before and after a bar, in a large run


class Display(Protocol):
    """Display of the progress of a run, updated about once a second."""

    def show(self, rows: Sequence[Row]) -> None:
        """Show the current state."""

    def print(self, message: str, colour: str) -> None:
        """Print a line that stays."""

    def close(self, rows: Sequence[Row]) -> None:
        """Show the last state, and end."""


class Bars:
    """One bar for each kind of work; messages are printed above the bars."""

    def __init__(self, stream: TextIO, colours: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._console = Console(
            file=stream, force_terminal=True, no_color=not colours, highlight=False
        )
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=min(40, max(10, self._console.width - _TEXT_WIDTH))),
            TextColumn("{task.fields[text]}"),
            console=self._console,
            auto_refresh=False,
            # Standard output is redirected only if it goes to the terminal anyway.
            redirect_stdout=sys.stdout.isatty(),
        )
        self._tasks: dict[str, TaskID] = {}

    def show(self, rows: Sequence[Row]) -> None:
        """Draw the bars."""
        for row in rows:
            if row.name not in self._tasks:
                self._tasks[row.name] = self._progress.add_task(row.name, text="")
            self._progress.update(
                self._tasks[row.name], completed=row.settled, total=row.total, text=_format_row(row)
            )
        if rows:
            self._progress.start()
            self._progress.refresh()

    def print(self, message: str, colour: str) -> None:
        """Print a line above the bars."""
        from rich.text import Text

        self._console.print(Text(message, style=colour), soft_wrap=True)

    def close(self, rows: Sequence[Row]) -> None:
        """Draw the bars a last time."""
        self.show(rows)
        self._progress.stop()


class Lines:
    """A line at the beginning, one at the end, and at most two a minute between them."""

    def __init__(self, stream: TextIO, clock: Callable[[], float]) -> None:
        self._stream = stream
        self._clock = clock
        self._last = ""
        self._next = clock()

    def show(self, rows: Sequence[Row]) -> None:
        """Print a line, if the last one is old enough."""
        if self._clock() >= self._next:
            self._write(rows)

    def print(self, message: str, colour: str) -> None:
        """Print a line."""
        print(message, file=self._stream, flush=True)

    def close(self, rows: Sequence[Row]) -> None:
        """Print a last line."""
        self._write(rows)

    def _write(self, rows: Sequence[Row]) -> None:
        done = "; ".join(f"{row.name} {row.text}" for row in rows)
        if done == self._last:  # only the estimate has changed
            return
        self._last, self._next = done, self._clock() + _SECONDS_BETWEEN_LINES
        self.print("; ".join(f"{row.name} {_format_row(row)}" for row in rows), "")


def _format_row(row: Row) -> str:
    return f"{row.text}, {row.time_left}" if row.time_left else row.text
