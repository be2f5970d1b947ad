"""What a run would fit now, and why: the configured cells beside what is under `results`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from onlinefa import earlier, results
from onlinefa.cell import Bundle, Cell
from onlinefa.earlier import Earlier, Identity, spelled
from onlinefa.forecast import Forecast, Source
from onlinefa.results import FAILED, Store


class State(StrEnum):
    """What a cell is to the next run."""

    UP_TO_DATE = "up to date"
    IN_STORE = "in store"
    NEW = "new"
    PARAMETERS = "parameters changed"
    CODE = "code changed"
    CHANGED = "changed"
    MISSING = "missing"
    FAILED = "failed"


REASONS = [state for state in State if state not in (State.UP_TO_DATE, State.IN_STORE)]
"""Why cells are fitted."""


@dataclass(frozen=True)
class Planned:
    """One cell."""

    cell: Cell
    state: State
    changes: tuple[str, ...] = ()
    """What is not as it was, where that is known."""
    seconds: float = 0.0
    """Of one core, until it is fitted."""
    source: Source | None = None
    """Of the seconds, if it is to be fitted at all."""


@dataclass(frozen=True)
class Plan:
    """All cells, and what is wrong with files that Snakemake would take for results."""

    cells: list[Planned]
    damages: list[str]


def plan(bundles: Iterable[Bundle], folder: Path) -> Plan:
    """What becomes of the cells of all bundles, given what is in the folder of results."""
    files = [_File.of(bundle, folder / "cells") for bundle in bundles]
    past = _Past(Store(folder / "store"), [file for file in files if not file.is_complete])
    cells = [
        Planned(cell, State.UP_TO_DATE) if file.is_complete else past.planned(file, digest, cell)
        for file in files
        for digest, cell in file.cells.items()
    ]
    return Plan(cells, [str(file.damage) for file in files if file.damage])


@dataclass(frozen=True)
class _File:
    """The file of a bundle: the cells that it should have, by digest, and those that it has."""

    path: Path
    cells: Mapping[str, Cell]
    finished: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    damage: results.BadFile | None = None

    @classmethod
    def of(cls, bundle: Bundle, folder: Path) -> _File:
        path = results.bundle_path(bundle, folder)
        cells = {cell.digest(): cell for cell in bundle.cells()}
        if not path.exists():
            return cls(path, cells)
        try:
            rows = results.read_one(path, ["digest", "metric"])
        except results.BadFile as damage:
            return cls(path, cells, damage=damage)
        digests = frozenset(rows["digest"].unique().to_pylist())
        failed = _failed(rows) if FAILED in rows["metric"].unique().to_pylist() else frozenset()
        return cls(path, cells, digests - failed, failed)

    @property
    def is_complete(self) -> bool:
        """If not, it is made anew, from the store and from what is fitted."""
        return self.finished == self.cells.keys() and not self.failed


def _failed(rows: pa.Table) -> frozenset[str]:
    pairs = zip(rows["digest"].to_pylist(), rows["metric"].to_pylist(), strict=True)
    return frozenset(digest for digest, metric in pairs if metric == FAILED)


class _Past:
    """What is left of earlier fits, of which nothing is read before it is needed."""

    def __init__(self, store: Store, files: list[_File]) -> None:
        self.store, self.files = store, files

    def planned(self, file: _File, digest: str, cell: Cell) -> Planned:
        """A cell of a file that has to be made."""
        if self.store.has(digest):
            return Planned(cell, State.UP_TO_DATE if digest in file.finished else State.IN_STORE)
        return Planned(cell, *self._reason(file, digest, cell), *self._forecast.of(cell))

    def _reason(self, file: _File, digest: str, cell: Cell) -> tuple[State, tuple[str, ...]]:
        if digest in file.failed or self.store.failure(digest).exists():
            return State.FAILED, ()
        if digest in file.finished or self.store.path(digest).exists():
            return State.MISSING, ()
        fit = self._latest.get(results.keys_of(cell))
        if fit is None:
            return State.MISSING if file.damage else State.NEW, ()
        if fit.identity is None:
            return State.CHANGED, ()
        return _difference(fit.identity, cell)

    @cached_property
    def _fits(self) -> dict[str, Earlier]:
        """All of them, by digest."""
        return {fit.digest: fit for fit in [*self._in_files, *earlier.in_store(self.store)]}

    @cached_property
    def _in_files(self) -> list[Earlier]:
        """Those in the files of bundles, as they are now."""
        there = [file.path for file in self.files if file.finished or file.failed]
        return [fit for path in there for fit in earlier.in_file(path)]

    @cached_property
    def _latest(self) -> dict[tuple[Any, ...], Earlier]:
        """The last fit of each cell; if a bundle's file has one, that, because it was in use."""
        in_use = {fit.keys: self._fits[fit.digest] for fit in self._in_files}
        return {fit.keys: fit for fit in self._fits.values()} | in_use

    @cached_property
    def _forecast(self) -> Forecast:
        return Forecast(self._fits.values())


def _difference(before: Identity, cell: Cell) -> tuple[State, tuple[str, ...]]:
    old, new = spelled(before.parameters), spelled(cell.parameters)
    changes = [
        f"{name}: {old.get(name, 'none')} -> {new.get(name, 'none')}"
        for name in old | new
        if old.get(name) != new.get(name)
    ]
    if before.code != cell.code:
        return (State.PARAMETERS, (*changes, "code")) if changes else (State.CODE, ())
    return (State.PARAMETERS, tuple(changes)) if changes else (State.CHANGED, ())
