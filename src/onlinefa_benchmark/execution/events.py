"""Events of a fit job: one JSON object per line, for the display of progress.

An event has a ``name`` (``started``, ``finished`` or ``failed``) and the names of its ``cells``;
``finished`` also has the ``seconds`` that they took together.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from onlinefa_benchmark.cells import Cell


class EventFile:
    """File of the events of a job; without a path, events are discarded.

    Parameters
    ----------
    path : Path or None
        The file.
    append : bool, default=False
        Whether to keep the events in the file, because an earlier process of the same attempt has
        written them. Otherwise they are from an earlier attempt, and dropped.
    """

    def __init__(self, path: Path | None, append: bool = False) -> None:
        self._path = path
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.open("a" if append else "w").close()

    def started(self, cells: Iterable[Cell]) -> None:
        """Write that cells are being fitted."""
        self._write("started", cells)

    def finished(self, cells: Iterable[Cell], seconds: float) -> None:
        """Write that cells are finished."""
        self._write("finished", cells, seconds=seconds)

    def failed(self, cells: Iterable[Cell]) -> None:
        """Write that cells have failed."""
        self._write("failed", cells)

    def _write(self, name: str, cells: Iterable[Cell], **facts: Any) -> None:
        if self._path is None:
            return
        event = {"name": name, "cells": [str(cell) for cell in cells], **facts}
        with self._path.open("a") as file:
            file.write(json.dumps(event) + "\n")
