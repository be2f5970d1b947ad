"""What is left of earlier fits: which cells there were, what decided them, how long they took.

For a plan of thousands of cells only the ends of the store's files are read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from onlinefa import results
from onlinefa.cell import Cell
from onlinefa.results import KEYS, Store

_SECONDS = results.SCHEMA.get_field_index("seconds")


@dataclass(frozen=True)
class Identity:
    """What decided a result, besides its keys."""

    parameters: Mapping[str, Any]
    code: str


def spelled(parameters: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested parameters as text, each under a name such as `settings.learning_rate`."""
    found: dict[str, str] = {}
    for name, value in parameters.items():
        if isinstance(value, Mapping) and value:
            found |= spelled(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = json.dumps(value)
    return found


@dataclass(frozen=True)
class Earlier:
    """One fit."""

    digest: str
    keys: tuple[Any, ...]
    seconds: float | None
    """None of a cell that failed."""
    identity: Identity | None
    """None where it was not recorded."""


def in_file(path: Path) -> list[Earlier]:
    """The cells of any file, by its rows, which do not have identities; none if it is damaged."""
    try:
        rows = results.read_one(path, [*KEYS, "digest", "seconds"])
    except results.BadFile:
        return []
    # Without pyarrow's own grouping and filters, which would import pandas.
    cells: dict[str, tuple[int, list[float | None]]] = {}
    columns = (rows["digest"].to_pylist(), rows["seconds"].to_pylist())
    for row, (digest, seconds) in enumerate(zip(*columns, strict=True)):
        cells.setdefault(digest, (row, []))[1].append(seconds)
    return [
        Earlier(digest, _keys_in(rows, first), _longest(seconds), None)
        for digest, (first, seconds) in cells.items()
    ]


def _keys_in(rows: pa.Table, row: int) -> tuple[Any, ...]:
    (values,) = rows.slice(row, 1).to_pylist()
    return tuple(values[key] for key in KEYS)


def _longest(seconds: list[float | None]) -> float | None:
    return max((value for value in seconds if value is not None), default=None)


def in_store(store: Store) -> Iterator[Earlier]:
    """All that was ever fitted, or failed, and says what it was; the latest comes last."""
    for path in store.files():
        if found := entry(path):
            yield found


def entry(path: Path) -> Earlier | None:
    """A file of the store; None if it is not there, cannot be read, or does not say what it is."""
    try:
        footer = pq.read_metadata(path)
        told = json.loads(footer.metadata[results.IDENTITY])
        cell = Cell(told["experiment"], told["axes"], told["seed"], told["parameters"])
        statistics = footer.row_group(0).column(_SECONDS).statistics
        seconds = statistics.max if statistics and statistics.has_min_max else None
        return Earlier(
            path.stem, results.keys_of(cell), seconds, Identity(cell.parameters, told["code"])
        )
    except (pa.ArrowException, OSError, ValueError, LookupError, TypeError):
        return None
