"""The experiments: a cell in, measurements out. One file per experiment, found by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from onlinefa.cell import Cell

Status = Literal["ok", "diverged", "undefined"]


@dataclass(frozen=True)
class Measurement:
    """One value of one metric at one step of a fit, or the reason why there is none."""

    step: int
    metric: str
    value: float | None
    status: Status
    message: str
    seconds: float
    """Spent on the fit itself up to this step, without drawing data or measuring distances."""


def load(name: str) -> Callable[[Cell], Iterator[Measurement]]:
    """The function that runs one cell of an experiment."""
    run: Callable[[Cell], Iterator[Measurement]] = import_module(f"{__name__}.{name}").run
    return run
