"""Reading and writing Parquet files of results.

Files are written atomically, with page checksums. Reading raises an error that names the file if it
is damaged, has another version or has other cells than expected.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from onlinefa_benchmark import experiments
from onlinefa_benchmark.atomic_file import atomic
from onlinefa_benchmark.cells import Bundle, Cell
from onlinefa_benchmark.measurement import Measurement
from onlinefa_benchmark.storage.provenance import Provenance
from onlinefa_benchmark.storage.schema import (
    FAILED,
    VERSION,
    VERSION_KEY,
    key_columns,
    key_values,
    schema,
)

if TYPE_CHECKING:
    import pandas as pd


class ResultError(ValueError):
    """Exception for results that cannot be aggregated; the message is one line."""


class BadFile(ResultError):
    """Exception for a file of results that cannot be used.

    The message names the file, the problem and the remedy.
    """

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}; delete it and run again")


def measurement_table(
    cell: Cell, digest: str, measurements: Iterable[Measurement], provenance: Provenance
) -> pa.Table:
    """Return the rows of a cell."""
    return _table(cell, digest, [dict(vars(each)) for each in measurements], provenance)


def failure_table(cell: Cell, digest: str, message: str, provenance: Provenance) -> pa.Table:
    """Return the row of a cell that failed, perhaps in another process than this one."""
    row = {"step": 0, "metric": FAILED, "status": FAILED, "message": message, "contract": ""}
    return _table(cell, digest, [row | {"peak_memory_mb": None}], provenance)


def _table(cell: Cell, digest: str, rows: list[dict[str, Any]], provenance: Provenance) -> pa.Table:
    shared = {
        **dict(zip(key_columns(cell.experiment), key_values(cell), strict=True)),
        "digest": digest,
        "peak_memory_mb": provenance.peak_memory_mb(),
        **provenance.facts,
    }
    return pa.Table.from_pylist([shared | row for row in rows], schema=schema(cell.experiment))


def write(table: pa.Table, path: Path) -> None:
    """Write a table to a Parquet file."""
    with atomic(path) as temporary:
        pq.write_table(table, temporary, compression="zstd", write_page_checksum=True)


def read(path: Path, columns: list[str] | None = None) -> pa.Table:
    """Read some columns of a file, by default all.

    Raises
    ------
    BadFile
        If the file is damaged or has another schema.
    """
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            expected = _expected_schema(file.schema_arrow, path)
            return file.read(columns=columns).replace_schema_metadata(expected.metadata)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = (str(error).splitlines() or [""])[0]
        raise BadFile(path, f"not a readable Parquet file ({reason})") from error


def _expected_schema(found: pa.Schema, path: Path) -> pa.Schema:
    metadata = found.metadata or {}
    version = metadata.get(VERSION_KEY, b"none").decode()
    if version != VERSION:
        raise BadFile(path, f"schema version {version}, expected {VERSION}")
    for name in experiments.names():
        if found == schema(name):
            return schema(name)
    raise BadFile(path, "has other columns than it should")


def bundle_path(bundle: Bundle, folder: Path) -> Path:
    """Return the file of a job's results."""
    return folder / f"{bundle.name}.parquet"


def read_bundle(bundle: Bundle, folder: Path, columns: list[str]) -> pa.Table:
    """Read columns of a job's rows, which must be those of its cells as they are defined now."""
    path = bundle_path(bundle, folder)
    table = read(path, [*columns, "digest"])
    expected = {cell.digest() for cell in bundle.cells()}
    if set(table["digest"].unique().to_pylist()) != expected:
        raise BadFile(path, "holds rows of other cells than it should")
    return table.select(columns)


def read_bundles(bundles: Iterable[Bundle], folder: Path, columns: list[str]) -> pd.DataFrame:
    """Read columns of the rows of several jobs of one experiment, including failures."""
    tables = [read_bundle(bundle, folder, columns) for bundle in bundles]
    return pa.concat_tables(tables).to_pandas()
