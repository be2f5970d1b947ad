"""The events that a fit job writes (`onlinefa_benchmark.execution.events`), read as they appear."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from snakemake_logger_plugin_onlinefa.cell_counts import CellCounts


class EventLog:
    """A growing file of events, of which only new lines are read.

    Parameters
    ----------
    path : Path
        The file. Its content is ignored until it changes, because an earlier run or attempt may
        have left it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0
        self._last = self._stamp()

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield the events of new, complete lines."""
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
        complete = new[: new.rfind(b"\n") + 1]
        self._read += len(complete)
        for line in complete.splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict):
                yield event

    def _stamp(self) -> tuple[int, int]:
        try:
            status = self._path.stat()
        except OSError:
            return 0, 0
        return status.st_mtime_ns, status.st_size


def follow(log: EventLog, job: str, counts: CellCounts) -> None:
    """Count the new events of a job."""
    for event in log.events():
        cells = event.get("cells", [])
        match event.get("name"):
            case "started":
                counts.start_cells(job, cells)
            case "finished":
                counts.finish_cells(job, cells, float(event.get("seconds", 0)))
            case "failed":
                counts.fail_cells(job, cells)
