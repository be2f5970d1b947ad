"""Comparison of the configured cells with the existing results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from onlinefa_benchmark.cells import Bundle, Cell
from onlinefa_benchmark.planning.forecast import Forecast, Source
from onlinefa_benchmark.storage import history, result_file
from onlinefa_benchmark.storage.history import EarlierFit, Identity
from onlinefa_benchmark.storage.schema import FAILED, key_values
from onlinefa_benchmark.storage.store import Store


class State(StrEnum):
    """State of a cell: what the next run does with it, or why it has to be fitted."""

    UP_TO_DATE = "up to date"
    IN_STORE = "in store"
    NEW = "new"
    PARAMETERS = "parameters changed"
    CODE = "code changed"
    CHANGED = "changed"
    MISSING = "missing"
    FAILED = "failed"


REASONS = [state for state in State if state not in (State.UP_TO_DATE, State.IN_STORE)]
"""States of cells that are fitted."""


@dataclass(frozen=True)
class PlannedCell:
    """A cell and its state.

    Parameters
    ----------
    cell : Cell
        The cell.
    state : State
        Its state.
    changes : tuple of str
        What has changed since it was fitted, where that is known.
    seconds : float
        Estimated seconds of one core, if it is to be fitted.
    source : Source or None
        What the estimate is based on; None if it is not to be fitted.
    """

    cell: Cell
    state: State
    changes: tuple[str, ...] = ()
    seconds: float = 0.0
    source: Source | None = None


@dataclass(frozen=True)
class Plan:
    """All cells, and messages about damaged files that Snakemake would take for results."""

    cells: list[PlannedCell]
    damages: list[str]


def make_plan(bundles: Iterable[Bundle], folder: Path) -> Plan:
    """Return what the next run does with the cells of all bundles.

    Parameters
    ----------
    bundles : iterable of Bundle
        Jobs of the configuration.
    folder : Path
        Folder of results.
    """
    files = [_JobFile.read(bundle, folder / "cells") for bundle in bundles]
    past = _Past(Store(folder / "store"), [file for file in files if not file.is_complete])
    cells = [
        PlannedCell(cell, State.UP_TO_DATE) if file.is_complete else past.plan(file, digest, cell)
        for file in files
        for digest, cell in file.cells.items()
    ]
    return Plan(cells, [str(file.damage) for file in files if file.damage])


@dataclass(frozen=True)
class _JobFile:
    """The file of a job: the cells that it should have, by digest, and those that it has."""

    path: Path
    cells: Mapping[str, Cell]
    finished: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    damage: result_file.BadFile | None = None

    @classmethod
    def read(cls, bundle: Bundle, folder: Path) -> _JobFile:
        path = result_file.bundle_path(bundle, folder)
        cells = {cell.digest(): cell for cell in bundle.cells()}
        if not path.exists():
            return cls(path, cells)
        try:
            rows = result_file.read(path, ["digest", "metric"])
        except result_file.BadFile as damage:
            return cls(path, cells, damage=damage)
        digests = frozenset(rows["digest"].unique().to_pylist())
        failed = _failed(rows) if FAILED in rows["metric"].unique().to_pylist() else frozenset()
        return cls(path, cells, digests - failed, failed)

    @property
    def is_complete(self) -> bool:
        """Whether the file has all cells and none of them failed, so that it is not made again."""
        return self.finished == self.cells.keys() and not self.failed


def _failed(rows: pa.Table) -> frozenset[str]:
    pairs = zip(rows["digest"].to_pylist(), rows["metric"].to_pylist(), strict=True)
    return frozenset(digest for digest, metric in pairs if metric == FAILED)


class _Past:
    """Earlier fits, read when they are needed."""

    def __init__(self, store: Store, files: list[_JobFile]) -> None:
        self.store, self.files = store, files

    def plan(self, file: _JobFile, digest: str, cell: Cell) -> PlannedCell:
        """Return the state of a cell whose file has to be made."""
        if self.store.has(digest):
            in_file = digest in file.finished
            return PlannedCell(cell, State.UP_TO_DATE if in_file else State.IN_STORE)
        return PlannedCell(cell, *self._reason(file, digest, cell), *self._forecast.estimate(cell))

    def _reason(self, file: _JobFile, digest: str, cell: Cell) -> tuple[State, tuple[str, ...]]:
        if digest in file.failed or self.store.failure(digest).exists():
            return State.FAILED, ()
        if digest in file.finished or self.store.path(digest).exists():
            return State.MISSING, ()
        fit = self._latest.get(key_values(cell))
        if fit is None:
            return State.MISSING if file.damage else State.NEW, ()
        if fit.identity is None:
            return State.CHANGED, ()
        return _compare(fit.identity, cell)

    @cached_property
    def _fits(self) -> dict[str, EarlierFit]:
        """All earlier fits, by digest."""
        return {fit.digest: fit for fit in [*self._in_files, *history.read_store(self.store)]}

    @cached_property
    def _in_files(self) -> list[EarlierFit]:
        """The fits in the files of jobs."""
        there = [file.path for file in self.files if file.finished or file.failed]
        return [fit for path in there for fit in history.read_job_file(path)]

    @cached_property
    def _latest(self) -> dict[tuple[Any, ...], EarlierFit]:
        """The latest fit of each cell; the one in a job's file, if any, because it was in use."""
        in_use = {fit.keys: self._fits[fit.digest] for fit in self._in_files}
        return {fit.keys: fit for fit in self._fits.values()} | in_use

    @cached_property
    def _forecast(self) -> Forecast:
        return Forecast(self._fits.values())


def _compare(before: Identity, cell: Cell) -> tuple[State, tuple[str, ...]]:
    old, new = history.flatten(before.parameters), history.flatten(cell.parameters)
    changes = [
        f"{name}: {old.get(name, 'none')} -> {new.get(name, 'none')}"
        for name in old | new
        if old.get(name) != new.get(name)
    ]
    if before.code != cell.code:
        return (State.PARAMETERS, (*changes, "code")) if changes else (State.CODE, ())
    return (State.PARAMETERS, tuple(changes)) if changes else (State.CHANGED, ())
