"""Where progress is shown: as bars at the bottom of a terminal, or as a line now and then."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TextIO

from snakemake_logger_plugin_onlinefa.watching import Row

if TYPE_CHECKING:
    from rich.progress import TaskID

_SECONDS_BETWEEN_LINES = 30
_WIDTH_OF_WORDS = 70  # "other jobs" before a bar, and after it what is said of a large run


class Display(Protocol):
    """Told how far the run is once a second or so; shows it as often as it likes."""

    def show(self, rows: Sequence[Row]) -> None: ...

    def say(self, message: str, colour: str) -> None:
        """A line that stays."""

    def close(self, rows: Sequence[Row]) -> None: ...


class Bars:
    """One for each kind of work. What is said meanwhile, and what handlers print, is above them."""

    def __init__(self, stream: TextIO, colours: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._console = Console(
            file=stream, force_terminal=True, no_color=not colours, highlight=False
        )
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=min(40, max(10, self._console.width - _WIDTH_OF_WORDS))),
            TextColumn("{task.fields[told]}"),
            console=self._console,
            auto_refresh=False,
            # Only what would have come to this terminal anyway.
            redirect_stdout=sys.stdout.isatty(),
        )
        self._tasks: dict[str, TaskID] = {}

    def show(self, rows: Sequence[Row]) -> None:
        for row in rows:
            if row.name not in self._tasks:
                self._tasks[row.name] = self._progress.add_task(row.name, told="")
            self._progress.update(
                self._tasks[row.name], completed=row.settled, total=row.total, told=_words(row)
            )
        if rows:
            self._progress.start()
            self._progress.refresh()

    def say(self, message: str, colour: str) -> None:
        from rich.text import Text

        self._console.print(Text(message, style=colour), soft_wrap=True)

    def close(self, rows: Sequence[Row]) -> None:
        self.show(rows)
        self._progress.stop()


class Lines:
    """One at the beginning, one at the end, and in between no more than two a minute."""

    def __init__(self, stream: TextIO, clock: Callable[[], float]) -> None:
        self._stream = stream
        self._clock = clock
        self._last = ""
        self._next = clock()

    def show(self, rows: Sequence[Row]) -> None:
        if self._clock() >= self._next:
            self._write(rows)

    def say(self, message: str, colour: str) -> None:
        print(message, file=self._stream, flush=True)

    def close(self, rows: Sequence[Row]) -> None:
        self._write(rows)

    def _write(self, rows: Sequence[Row]) -> None:
        done = "; ".join(f"{row.name} {row.told}" for row in rows)
        if done == self._last:  # another estimate alone is no news
            return
        self._last, self._next = done, self._clock() + _SECONDS_BETWEEN_LINES
        self.say("; ".join(f"{row.name} {_words(row)}" for row in rows), "")


def _words(row: Row) -> str:
    return f"{row.told}, {row.left}" if row.left else row.told
