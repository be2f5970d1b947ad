"""Axes: the quantities in which the cells of an experiment differ.

Each axis is a column of the results. The axes that several experiments share are defined here; an
experiment may define axes of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from onlinefa_benchmark import looks

AxisValue = str | int | float


def _identity(value: Any) -> Any:
    return value


def _format_plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Axis:
    """One axis.

    Parameters
    ----------
    name : str
        Name of the column and of the level in paths.
    label : str, default=""
        Label for readers; the name if empty.
    kind : {str, int, float}, default=str
        Type of its values.
    format : callable, default: plain text
        Format a value for readers.
    sort_key : callable, default: the value itself
        Key by which values are sorted.
    """

    name: str
    label: str = ""
    kind: type = str
    format: Callable[[Any], str] = _format_plain
    sort_key: Callable[[Any], Any] = _identity

    @property
    def title(self) -> str:
        """Label for readers."""
        return self.label or self.name


_WALKS = {
    "reshuffled": "SGD, reshuffled",
    "replacement": "SGD, with replacement",
    "reshuffled_averaged": "SGD, reshuffled, averaged",
    "replacement_averaged": "SGD, with replacement, averaged",
    "constant_sgd": "constant SGD, Mandt's step",
    "sgld": "SGLD",
    "sgld_control_variate": "SGLD, control variates",
    "sgld_diagonal": "SGLD, preconditioned",
    "sgld_cyclical": "SGLD, cyclical",
    "underdamped": "underdamped Langevin",
    "langevin_fa": "Langevin, factor analysis",
}


def parse_spectrum(spectrum: str) -> tuple[int, int]:
    """Return the low and high end of a spectrum's name, such as ``1-100``."""
    low, high = spectrum.split("-")
    return int(low), int(high)


def _format_spectrum(spectrum: str) -> str:
    low, high = parse_spectrum(spectrum)
    return f"[{low}, {high}]"


def _walk_key(walk: str) -> tuple[int, str]:
    known = list(_WALKS)
    return (known.index(walk) if walk in known else -1, walk)


ALGORITHM = Axis("algorithm", format=lambda name: looks.look(name).label, sort_key=looks.sort_key)
DATASET = Axis("dataset", format=lambda name: str(name).replace("_", " "))
WALK = Axis("walk", format=lambda walk: _WALKS.get(walk, str(walk)), sort_key=_walk_key)
D = Axis("D", kind=int)
K = Axis("K", kind=int)
WIDTH = Axis("width", "hidden units", kind=int)
SPECTRUM = Axis("spectrum", format=_format_spectrum, sort_key=parse_spectrum)
SCALE = Axis("scale", kind=float)

COMMON = {axis.name: axis for axis in (DATASET, WALK, ALGORITHM, D, K, WIDTH, SPECTRUM, SCALE)}
"""The axes that every result file has a column for, in the order of the columns."""
