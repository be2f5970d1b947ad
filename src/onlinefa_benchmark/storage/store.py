"""The store of finished cells.

The rows of a finished cell are kept under its digest, so that it is never fitted twice, however
cells are bundled into jobs and whatever the configuration was in between. The file of a job, which
is an output of a Snakemake rule, is assembled from the store. The row of a failed cell is kept in
another folder than finished cells; the cell is fitted again whenever its job runs.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from onlinefa_benchmark.cells import Cell
from onlinefa_benchmark.storage import result_file
from onlinefa_benchmark.storage.result_file import ResultError

IDENTITY = b"onlinefa_cell"
"""Metadata key of an entry: everything that determines its rows."""


class Store:
    """Finished cells by digest.

    Parameters
    ----------
    folder : Path
        Folder of the store.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)

    def path(self, digest: str) -> Path:
        """Return the file of a finished cell."""
        return self.folder / digest[:2] / f"{digest}.parquet"

    def checkpoint(self, digest: str) -> Path:
        """Return the file of the state of an interrupted fit."""
        return self.folder / "unfinished" / f"{digest}.npz"

    def workspace(self, digest: str) -> Path:
        """Return the folder of training runs that an unfinished job's cells share."""
        return self.folder / "unfinished" / "runs" / digest

    def failure(self, digest: str) -> Path:
        """Return the file of the row of a cell that failed and is not finished yet."""
        return self.folder / "unfinished" / "failed" / f"{digest}.parquet"

    def files(self, beginning: str = "") -> list[Path]:
        """Return the files of finished and failed cells, from the earliest to the latest.

        Parameters
        ----------
        beginning : str
            Beginning of the digests: empty for all cells, or at least two characters.
        """
        folder = beginning[:2] or "[0-9a-f][0-9a-f]"
        finished = self.folder.glob(f"{folder}/{beginning}*.parquet")
        return sorted([*finished, *self.failures(beginning)], key=_modification_time)

    def failures(self, beginning: str = "") -> list[Path]:
        """Return the files of cells that failed and are not finished yet."""
        return list(self.failure("").parent.glob(f"{beginning}*.parquet"))

    def has(self, digest: str) -> bool:
        """Return whether a cell is finished; only the footer of its file is read."""
        try:
            return pq.read_metadata(self.path(digest)).num_rows > 0
        except (pa.ArrowException, OSError):
            return False

    def get(self, digest: str) -> pa.Table | None:
        """Return the rows of a finished cell; None if it has to be fitted."""
        return _read_entry(digest, self.path(digest))

    def get_finished_or_failed(self, digest: str) -> pa.Table | None:
        """Return the rows of a finished cell, or the row of a cell that failed."""
        found = self.get(digest)
        return _read_entry(digest, self.failure(digest)) if found is None else found

    def put(self, cell: Cell, digest: str, table: pa.Table) -> None:
        """Keep the rows of a finished cell."""
        result_file.write(_with_identity(table, cell), self.path(digest))
        self.failure(digest).unlink(missing_ok=True)

    def put_failure(self, cell: Cell, digest: str, table: pa.Table) -> None:
        """Keep the row of a cell that failed."""
        result_file.write(_with_identity(table, cell), self.failure(digest))


def _read_entry(digest: str, path: Path) -> pa.Table | None:
    if not path.exists():
        return None
    try:
        table = result_file.read(path)
    except ResultError:
        return None  # a damaged entry is fitted again and replaced
    return table if table["digest"].unique().to_pylist() == [digest] else None


def _modification_time(path: Path) -> tuple[int, Path]:
    try:
        return path.stat().st_mtime_ns, path
    except FileNotFoundError:  # a run has just deleted it
        return 0, path


def _with_identity(table: pa.Table, cell: Cell) -> pa.Table:
    identity = {
        "experiment": cell.experiment,
        "axes": dict(cell.axes),
        "seed": cell.seed,
        "parameters": dict(cell.parameters),
        "code": cell.code,
    }
    metadata = {**(table.schema.metadata or {}), IDENTITY: json.dumps(identity)}
    return table.replace_schema_metadata(metadata)
