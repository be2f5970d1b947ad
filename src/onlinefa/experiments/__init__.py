"""The experiments: a cell in, measurements out. One file for each, or for several of a kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onlinefa.cell import Cell
    from onlinefa.experiments.tracking import Measurement

_SAME_AS = {"eigenvalues": "synthetic", "components": "synthetic", "scale": "synthetic"}

# Whose cells use a GPU one by one. Those of other experiments that may be fitted on one are too
# small to fill it, and so the seeds of a group are fitted at once.
_ONE_BY_ONE = ("gp", "network", "digits")

Run = Callable[["Cell", Path], "Iterator[Measurement]"]


def module_of(experiment: str) -> str:
    """The module that runs an experiment."""
    return f"{__name__}.{_SAME_AS.get(experiment, experiment)}"


def load(experiment: str) -> Run:
    """The function that runs one cell of an experiment, given the folder of prepared tables."""
    run: Run = import_module(module_of(experiment)).run
    return run


def fits_together(experiment: str) -> bool:
    """Whether the seeds of a group are fitted at once where there is a GPU."""
    return experiment not in _ONE_BY_ONE
