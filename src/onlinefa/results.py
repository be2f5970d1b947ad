"""The Parquet files: one schema, atomic writes, and a store of finished cells.

A row is one metric of one cell at one step, or says why a cell has failed. A finished cell's rows
live in the store under the cell's digest, so that it is never fitted twice, however cells are
bundled into jobs and whatever the configuration was in between. What Snakemake sees, a bundle's
file, is put together from the store. A cell that failed has only a note of
what went wrong there: whenever the file is made, it is tried again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq

from onlinefa.cell import Bundle, Cell
from onlinefa.files import atomic
from onlinefa.provenance import Provenance

if TYPE_CHECKING:  # what fits is not imported with every summary, figure and table
    import pandas as pd

    from onlinefa.experiments.tracking import Measurement

SCHEMA_VERSION = "5"
FAILED = "failed"
"""The status of a cell that has no result, and the metric of the one row that says so."""

KEYS = [
    "experiment", "dataset", "walk", "algorithm", "D", "K", "width", "spectrum", "scale", "seed",
]  # fmt: skip

SCHEMA = pa.schema(
    [
        ("experiment", pa.string()),
        ("dataset", pa.string()),
        ("walk", pa.string()),
        ("algorithm", pa.string()),
        ("D", pa.int64()),
        ("K", pa.int64()),
        ("width", pa.int64()),
        ("spectrum", pa.string()),
        ("scale", pa.float64()),
        ("seed", pa.int64()),
        ("step", pa.int64()),
        ("metric", pa.string()),
        ("value", pa.float64()),
        ("status", pa.string()),
        ("message", pa.string()),
        ("contract", pa.string()),
        ("networks", pa.int64()),
        ("digest", pa.string()),
        ("commit", pa.string()),
        ("versions", pa.string()),
        ("device", pa.string()),
        ("host", pa.string()),
        ("seconds", pa.float64()),
        ("peak_memory_mb", pa.float64()),
    ],
    metadata={"onlinefa_schema": SCHEMA_VERSION},
)
IDENTITY = b"onlinefa_cell"
"""What decided the rows of an entry of the store: rows themselves have the keys and a digest."""


class ResultError(ValueError):
    """What is there cannot be aggregated; the message is one line."""


class BadFile(ResultError):
    """A file is not what it should be; the message says what to do about it."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}; delete it and run again")


def keys_of(cell: Cell) -> tuple[Any, ...]:
    """What a cell is called in its rows: the values of `KEYS`."""
    named = {"experiment": cell.experiment, "dataset": cell.parameters.get("dataset")}
    named |= {"seed": cell.seed, **cell.axes}
    return tuple(named.get(key) for key in KEYS)


def table_of(
    cell: Cell, digest: str, measurements: Iterable[Measurement], provenance: Provenance
) -> pa.Table:
    """A cell's rows."""
    return _table(cell, digest, map(vars, measurements), provenance)


def table_of_failure(cell: Cell, digest: str, message: str, provenance: Provenance) -> pa.Table:
    """The row of a cell that failed, perhaps in another process than this one."""
    row = {"step": 0, "metric": FAILED, "status": FAILED, "message": message, "contract": ""}
    return _table(cell, digest, [row | {"peak_memory_mb": None}], provenance)


def _table(
    cell: Cell, digest: str, rows: Iterable[dict[str, Any]], provenance: Provenance
) -> pa.Table:
    rows = list(rows)
    same = {
        **dict(zip(KEYS, keys_of(cell), strict=True)),
        "digest": digest,
        "peak_memory_mb": provenance.peak_memory_mb(),
        **provenance.facts,
    }
    return _of_rows([same | row for row in rows])


def _of_rows(rows: list[dict[str, Any]]) -> pa.Table:
    """By way of JSON, which keeps every bit: of Python's own values, pyarrow would ask pandas, and
    importing that takes longer than many a fit."""
    if not rows:
        return SCHEMA.empty_table()
    lines = "\n".join(json.dumps(row, allow_nan=False, default=_number) for row in rows).encode()
    table = pj.read_json(
        pa.BufferReader(lines),
        pj.ReadOptions(use_threads=False, block_size=len(lines) + 1),
        pj.ParseOptions(explicit_schema=SCHEMA, unexpected_field_behavior="ignore"),
    )
    return table.replace_schema_metadata(SCHEMA.metadata)


def _number(value: Any) -> Any:
    """One of NumPy's as one of Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} cannot be in a row")


def write(table: pa.Table, path: Path) -> None:
    with atomic(path) as temporary:
        pq.write_table(table, temporary, compression="zstd", write_page_checksum=True)


def bundle_path(bundle: Bundle, folder: Path) -> Path:
    return folder / f"{bundle.name}.parquet"


def read_bundle(bundle: Bundle, folder: Path, columns: list[str]) -> pa.Table:
    """Columns of a bundle's rows, which must be those of its cells as they are defined now."""
    path = bundle_path(bundle, folder)
    table = read_one(path, [*columns, "digest"])
    expected = {cell.digest() for cell in bundle.cells()}
    if set(table["digest"].unique().to_pylist()) != expected:
        raise BadFile(path, "holds rows of other cells than it should")
    return table.select(columns)


def read_bundles(bundles: Iterable[Bundle], folder: Path, columns: list[str]) -> pd.DataFrame:
    """Columns of the rows of several bundles, failures among them (`failures.py`)."""
    tables = [read_bundle(bundle, folder, columns) for bundle in bundles]
    return pa.concat_tables(tables).to_pandas()


def read_one(path: Path, columns: list[str] | None) -> pa.Table:
    """Columns of a file, or all of them, without what an entry of the store has besides rows."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            version = (file.schema_arrow.metadata or {}).get(b"onlinefa_schema", b"none").decode()
            if version != SCHEMA_VERSION:
                raise BadFile(path, f"schema version {version}, expected {SCHEMA_VERSION}")
            if file.schema_arrow != SCHEMA:
                raise BadFile(path, "has other columns than it should")
            return file.read(columns=columns).replace_schema_metadata(SCHEMA.metadata)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = (str(error).splitlines() or [""])[0]
        raise BadFile(path, f"not a readable Parquet file ({reason})") from error


class Store:
    """Finished cells by digest."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)

    def path(self, digest: str) -> Path:
        return self.folder / digest[:2] / f"{digest}.parquet"

    def unfinished(self, digest: str) -> Path:
        """Where the state of a fit that was interrupted is kept."""
        return self.folder / "unfinished" / f"{digest}.npz"

    def failure(self, digest: str) -> Path:
        """Where the row of a cell that failed is kept, until it is finished."""
        return self.folder / "unfinished" / "failed" / f"{digest}.parquet"

    def files(self, beginning: str = "") -> list[Path]:
        """Of cells that were ever finished or have failed, from the earliest to the latest.

        All of them, or those whose digests have that beginning, of two characters or more.
        """
        folder = beginning[:2] or "[0-9a-f][0-9a-f]"
        finished = self.folder.glob(f"{folder}/{beginning}*.parquet")
        return sorted([*finished, *self.failures(beginning)], key=_written)

    def failures(self, beginning: str = "") -> list[Path]:
        """Of cells that have failed and were not finished since."""
        return list(self.failure("").parent.glob(f"{beginning}*.parquet"))

    def has(self, digest: str) -> bool:
        """Whether a cell is finished, by the end of its file alone, where damage mostly is."""
        try:
            return pq.read_metadata(self.path(digest)).num_rows > 0
        except (pa.ArrowException, OSError):
            return False

    def get(self, digest: str) -> pa.Table | None:
        """The rows of a finished cell; None if it has to be fitted."""
        return _rows_of(digest, self.path(digest))

    def get_either(self, digest: str) -> pa.Table | None:
        """The rows of a finished cell, or the one of a cell that failed."""
        found = self.get(digest)
        return _rows_of(digest, self.failure(digest)) if found is None else found

    def put(self, cell: Cell, digest: str, table: pa.Table) -> None:
        write(_with_identity(table, cell), self.path(digest))
        self.failure(digest).unlink(missing_ok=True)

    def put_failure(self, cell: Cell, digest: str, table: pa.Table) -> None:
        write(_with_identity(table, cell), self.failure(digest))


def _rows_of(digest: str, path: Path) -> pa.Table | None:
    if not path.exists():
        return None
    try:
        table = read_one(path, None)
    except ResultError:
        return None  # a damaged entry is fitted again and replaced
    return table if table["digest"].unique().to_pylist() == [digest] else None


def _written(path: Path) -> tuple[int, Path]:
    try:
        return path.stat().st_mtime_ns, path
    except FileNotFoundError:  # a run is at it
        return 0, path


def _with_identity(table: pa.Table, cell: Cell) -> pa.Table:
    identity = {
        "experiment": cell.experiment,
        "axes": dict(cell.axes),
        "seed": cell.seed,
        "parameters": dict(cell.parameters),
        "code": cell.code,
    }
    return table.replace_schema_metadata({**SCHEMA.metadata, IDENTITY: json.dumps(identity)})
