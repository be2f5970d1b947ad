"""Cells that failed: what they count for, which they are, and how they are tried again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow.compute as pc
import pyarrow.parquet as pq

from onlinefa import results
from onlinefa.cell import Bundle, Cell
from onlinefa.results import FAILED, KEYS

# Whose metrics and steps a failed cell would have had: those of other seeds; if there are none, of
# other algorithms; or whatever its experiment measures.
_ALIKE = (
    [key for key in KEYS if key != "seed"],
    [key for key in KEYS if key not in ("seed", "algorithm")],
    ["experiment"],
)


def read_measured(bundles: Iterable[Bundle], folder: Path, columns: list[str]) -> pd.DataFrame:
    """Columns of the rows of several bundles, in which a failed cell lacks all that others have."""
    rows = results.read_bundles(bundles, folder, columns)
    if (rows["metric"] == FAILED).all():
        raise results.ResultError(
            "every cell has failed: results/tables/coverage.md has the reasons"
        )
    return spread(rows)


def spread(rows: pd.DataFrame) -> pd.DataFrame:
    """In place of the one row of a failed cell, one for each metric and step that it lacks."""
    failed, measured = rows[rows["metric"] == FAILED], rows[rows["metric"] != FAILED]
    parts = [measured]
    what = [column for column in ("step", "metric", "contract") if column in rows]
    for keys in _ALIKE:
        if failed.empty:
            break
        lacking = measured[[*keys, *what]].drop_duplicates([*keys, "step", "metric"])
        cells = failed.drop(columns=what).reset_index(names="cell")
        found = cells.merge(lacking, on=keys)
        parts.append(found[rows.columns])
        failed = failed[~failed.index.isin(found["cell"])]
    return pd.concat(parts, ignore_index=True)


@dataclass(frozen=True)
class Failure:
    """One cell that failed."""

    bundle: Bundle
    cell: Cell
    message: str

    @property
    def reason(self) -> str:
        """In one line."""
        return self.message.splitlines()[0]


def failures(bundles: Iterable[Bundle], folder: Path) -> Iterator[Failure]:
    """All cells that failed."""
    for bundle in bundles:
        table = results.read_bundle(bundle, folder, ["metric", "digest", "message"])
        told = {
            row["digest"]: row["message"]
            for row in table.filter(pc.field("metric") == FAILED).to_pylist()
        }
        for cell in bundle.cells() if told else ():
            if cell.digest() in told:
                yield Failure(bundle, cell, told[cell.digest()])


def forget(bundles: Iterable[Bundle], folder: Path) -> Sequence[Path]:
    """Delete the files that hold failed cells: whoever makes them again fits these and no others.

    Whatever cannot be read is somebody else's to complain about.
    """
    forgotten = []
    for path in (results.bundle_path(bundle, folder) for bundle in bundles):
        try:
            with pq.ParquetFile(path) as file:
                metrics = file.read(columns=["metric"])["metric"]
        except (OSError, ValueError, KeyError):
            continue
        if FAILED in metrics.unique().to_pylist():
            path.unlink()
            forgotten.append(path)
    return forgotten
