"""How long cells will take, from how long earlier ones took."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from statistics import median
from typing import Any

from onlinefa import results
from onlinefa.cell import Cell, Group
from onlinefa.cost import seconds_of
from onlinefa.earlier import Earlier
from onlinefa.results import KEYS

_EXPERIMENT, _ALGORITHM = KEYS.index("experiment"), KEYS.index("algorithm")
_SEED = KEYS.index("seed")


class Source(StrEnum):
    """Whose median an estimate is, from the best to the worst."""

    GROUP = "by earlier fits of the same group of seeds"
    ALGORITHM = "by earlier fits of the same experiment and algorithm"
    THUMB = "by a rule of thumb"


class Forecast:
    """What is known of earlier cells, whatever their parameters were."""

    def __init__(self, earlier: Iterable[Earlier]) -> None:
        seconds: dict[tuple[Any, ...], list[float]] = {}
        for fit in earlier:
            if fit.seconds is not None:
                for alike in (_group(fit.keys), _algorithm(fit.keys)):
                    seconds.setdefault(alike, []).append(fit.seconds)
        self._medians = {alike: median(values) for alike, values in seconds.items()}

    def of(self, cell: Cell) -> tuple[float, Source]:
        """Seconds of one core, and how they were estimated."""
        keys = results.keys_of(cell)
        for alike, source in ((_group(keys), Source.GROUP), (_algorithm(keys), Source.ALGORITHM)):
            if alike in self._medians:
                return self._medians[alike], source
        return seconds_of(cell.experiment, Group(cell.axes, cell.parameters)), Source.THUMB


def _group(keys: tuple[Any, ...]) -> tuple[Any, ...]:
    return keys[:_SEED] + keys[_SEED + 1 :]


def _algorithm(keys: tuple[Any, ...]) -> tuple[Any, ...]:
    return keys[_EXPERIMENT], keys[_ALGORITHM]
