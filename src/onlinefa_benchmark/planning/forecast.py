"""Estimates of the time that cells take, from earlier fits."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from statistics import median
from typing import Any

from onlinefa_benchmark import experiments
from onlinefa_benchmark.cells import Cell, Group
from onlinefa_benchmark.storage.history import EarlierFit
from onlinefa_benchmark.storage.schema import key_columns, key_values


class Source(StrEnum):
    """Basis of an estimate, from the best to the worst."""

    GROUP = "by earlier fits of the same group of seeds"
    ALGORITHM = "by earlier fits of the same experiment and algorithm"
    EXPERIMENT = "by the experiment's own estimate"


class Forecast:
    """Estimates from earlier fits, whatever their parameters were.

    Parameters
    ----------
    fits : iterable of EarlierFit
        Earlier fits.
    """

    def __init__(self, fits: Iterable[EarlierFit]) -> None:
        seconds: dict[tuple[Any, ...], list[float]] = {}
        for fit in fits:
            if fit.seconds is not None:
                for alike in (_group(fit.keys), _algorithm(fit.keys)):
                    seconds.setdefault(alike, []).append(fit.seconds)
        self._medians = {alike: median(values) for alike, values in seconds.items()}

    def estimate(self, cell: Cell) -> tuple[float, Source]:
        """Return the seconds of one core that a cell takes, and what the estimate is based on."""
        keys = key_values(cell)
        for alike, source in ((_group(keys), Source.GROUP), (_algorithm(keys), Source.ALGORITHM)):
            if alike in self._medians:
                return self._medians[alike], source
        group = Group(cell.axes, cell.parameters)
        return experiments.load(cell.experiment).estimate_seconds(group), Source.EXPERIMENT


def _group(keys: tuple[Any, ...]) -> tuple[Any, ...]:
    return keys[:-1]  # the seed is the last of the key columns


def _algorithm(keys: tuple[Any, ...]) -> tuple[Any, ...]:
    return keys[0], keys[key_columns(keys[0]).index("algorithm")]
