"""Failed cells: how they count in summaries, which they are, and how they are retried."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow.compute as pc
import pyarrow.parquet as pq

from onlinefa_benchmark.cells import Bundle, Cell
from onlinefa_benchmark.storage import result_file
from onlinefa_benchmark.storage.schema import FAILED, key_columns


def read_measurements(bundles: Iterable[Bundle], folder: Path, columns: list[str]) -> pd.DataFrame:
    """Read the rows of several jobs of one experiment, with failed cells filled in.

    Parameters
    ----------
    bundles : iterable of Bundle
        The jobs.
    folder : Path
        Folder of their results.
    columns : list of str
        Columns to read.

    Returns
    -------
    DataFrame
        The rows, as `fill_in_failures` returns them.

    Raises
    ------
    ResultError
        If every cell has failed, or a file cannot be used.
    """
    rows = result_file.read_bundles(bundles, folder, columns)
    if (rows["metric"] == FAILED).all():
        raise result_file.ResultError(
            "every cell has failed: results/tables/coverage.md has the reasons"
        )
    return fill_in_failures(rows)


def fill_in_failures(rows: pd.DataFrame) -> pd.DataFrame:
    """Replace the one row of a failed cell by a row for each value that it lacks.

    A failed cell lacks the metrics and steps that other seeds have; if there are none, those of
    other algorithms; and otherwise all that its experiment measures.
    """
    if rows.empty:
        return rows
    failed, measured = rows[rows["metric"] == FAILED], rows[rows["metric"] != FAILED]
    cell_keys = key_columns(str(rows["experiment"].iloc[0]))
    value_keys = ["step", "metric", "i", "j"]
    filled_in = [column for column in (*value_keys, "contract") if column in rows]
    parts = [measured]
    for different in (["seed"], ["seed", "algorithm"], cell_keys[1:]):
        if failed.empty:
            break
        keys = [key for key in cell_keys if key not in different]
        lacking = measured[[*keys, *filled_in]].drop_duplicates([*keys, *value_keys])
        cells = failed.drop(columns=filled_in).reset_index(names="cell")
        found = cells.merge(lacking, on=keys)
        parts.append(found[rows.columns])
        failed = failed[~failed.index.isin(found["cell"])]
    return pd.concat(parts, ignore_index=True)


@dataclass(frozen=True)
class Failure:
    """A cell that failed.

    Parameters
    ----------
    bundle : Bundle
        Its job.
    cell : Cell
        The cell.
    message : str
        What went wrong, with a traceback if there is one.
    """

    bundle: Bundle
    cell: Cell
    message: str

    @property
    def reason(self) -> str:
        """What went wrong, in one line."""
        return self.message.splitlines()[0]


def find_failures(bundles: Iterable[Bundle], folder: Path) -> Iterator[Failure]:
    """Yield all cells that failed, given all jobs and the folder of their results."""
    for bundle in bundles:
        table = result_file.read_bundle(bundle, folder, ["metric", "digest", "message"])
        messages = {
            row["digest"]: row["message"]
            for row in table.filter(pc.field("metric") == FAILED).to_pylist()
        }
        for cell in bundle.cells() if messages else ():
            if cell.digest() in messages:
                yield Failure(bundle, cell, messages[cell.digest()])


def delete_files_with_failures(bundles: Iterable[Bundle], folder: Path) -> Sequence[Path]:
    """Delete the results of jobs with failed cells, so that these cells are fitted again.

    Finished cells of these jobs stay in the store. Unreadable files are skipped.

    Returns
    -------
    sequence of Path
        The files that were deleted.
    """
    deleted = []
    for path in (result_file.bundle_path(bundle, folder) for bundle in bundles):
        try:
            with pq.ParquetFile(path) as file:
                metrics = file.read(columns=["metric"])["metric"]
        except (OSError, ValueError, KeyError):
            continue
        if FAILED in metrics.unique().to_pylist():
            path.unlink()
            deleted.append(path)
    return deleted
