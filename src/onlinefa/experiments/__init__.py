"""The experiments: a cell in, measurements out. One file per experiment, found by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onlinefa.cell import Cell
    from onlinefa.experiments.tracking import Measurement

Run = Callable[["Cell", Path], "Iterator[Measurement]"]


def load(name: str) -> Run:
    """The function that runs one cell of an experiment, given the folder of prepared tables."""
    run: Run = import_module(f"{__name__}.{name}").run
    return run
