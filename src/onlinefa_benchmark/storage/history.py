"""Earlier fits: their cells, parameters and code, and the time that they took.

Only the footers of the store's files are read, so that a plan of thousands of cells is quick.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from onlinefa_benchmark.cells import Cell
from onlinefa_benchmark.storage import result_file
from onlinefa_benchmark.storage.schema import key_columns, key_values, schema
from onlinefa_benchmark.storage.store import IDENTITY, Store


@dataclass(frozen=True)
class Identity:
    """Parameters and code that determined a result, besides its keys."""

    parameters: Mapping[str, Any]
    code: str


@dataclass(frozen=True)
class EarlierFit:
    """One earlier fit.

    Parameters
    ----------
    digest : str
        Digest of the cell.
    keys : tuple
        Values of its key columns.
    seconds : float or None
        Time that the fit took; None for a cell that failed.
    identity : Identity or None
        Parameters and code of the fit; None if they were not recorded.
    """

    digest: str
    keys: tuple[Any, ...]
    seconds: float | None
    identity: Identity | None


def flatten(parameters: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return nested parameters as text, each under a name such as ``settings.learning_rate``."""
    found: dict[str, str] = {}
    for name, value in parameters.items():
        if isinstance(value, Mapping) and value:
            found |= flatten(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = json.dumps(value)
    return found


def read_job_file(path: Path) -> list[EarlierFit]:
    """Return the fits in the file of a job; none if it is damaged."""
    try:
        experiment = str(result_file.read(path, ["experiment"])["experiment"][0])
        keys = key_columns(experiment)
        rows = result_file.read(path, [*keys, "digest", "seconds"])
    except (result_file.BadFile, IndexError, KeyError):
        return []
    cells: dict[str, tuple[int, list[float | None]]] = {}
    columns = (rows["digest"].to_pylist(), rows["seconds"].to_pylist())
    for row, (digest, seconds) in enumerate(zip(*columns, strict=True)):
        cells.setdefault(digest, (row, []))[1].append(seconds)
    return [
        EarlierFit(digest, _keys_of_row(rows, first, keys), _longest(seconds), None)
        for digest, (first, seconds) in cells.items()
    ]


def _keys_of_row(rows: pa.Table, row: int, keys: list[str]) -> tuple[Any, ...]:
    (values,) = rows.slice(row, 1).to_pylist()
    return tuple(values[key] for key in keys)


def _longest(seconds: list[float | None]) -> float | None:
    return max((value for value in seconds if value is not None), default=None)


def read_store(store: Store) -> Iterator[EarlierFit]:
    """Yield all finished and failed fits of a store, the latest last."""
    for path in store.files():
        if found := read_entry(path):
            yield found


def read_entry(path: Path) -> EarlierFit | None:
    """Return the fit in a file of the store; None if it cannot be read or has no identity."""
    try:
        footer = pq.read_metadata(path)
        identity = json.loads(footer.metadata[IDENTITY])
        cell = Cell(
            identity["experiment"], identity["axes"], identity["seed"], identity["parameters"]
        )
        column = schema(cell.experiment).get_field_index("seconds")
        statistics = footer.row_group(0).column(column).statistics
        seconds = statistics.max if statistics and statistics.has_min_max else None
        known = Identity(cell.parameters, identity["code"])
        return EarlierFit(path.stem, key_values(cell), seconds, known)
    except (pa.ArrowException, OSError, ValueError, LookupError, TypeError):
        return None
