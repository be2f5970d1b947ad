"""What a report is made of: of a finished run, or of whatever cells there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pandas as pd
import pyarrow as pa

from onlinefa import results
from onlinefa.cell import Bundle, Cell
from onlinefa.comparison import compare
from onlinefa.config import Config
from onlinefa.failures import spread
from onlinefa.presentation import METRICS, REFERENCES
from onlinefa.results import FAILED
from onlinefa.summary import summarise

_COLUMNS = [
    *results.KEYS, "step", "metric", "value", "status", "message", "contract", "networks", "digest",
    "commit", "versions", "device", "host", "seconds", "peak_memory_mb",
]  # fmt: skip


@dataclass(frozen=True)
class Material:
    """All that is known of one experiment."""

    experiment: str
    rows: pd.DataFrame
    """Of all cells, failed ones among them."""
    summary: pd.DataFrame | None
    """None if there is not a single value."""
    comparison: pd.DataFrame | None
    missing: Sequence[Cell] = ()

    @property
    def has_values(self) -> bool:
        return self.summary is not None and bool((self.summary["ok"] > 0).any())


def finished(
    bundles: Sequence[Bundle], cells: Path, summaries: Sequence[Path], comparisons: Sequence[Path]
) -> list[Material]:
    """What a run has left, once all cells are there; files are named after their experiments."""
    summary = {path.stem: pd.read_parquet(path) for path in summaries}
    comparison = {path.stem: pd.read_parquet(path) for path in comparisons}
    return [
        Material(
            experiment,
            results.read_bundles(jobs, cells, _COLUMNS),
            summary[experiment],
            comparison.get(experiment),
        )
        for experiment, jobs in groupby(bundles, lambda bundle: bundle.experiment)
    ]


def partial(
    bundles: Sequence[Bundle], config: Config, cells: Path, store: results.Store
) -> list[Material]:
    """What there is in the middle of a run: finished jobs, and finished cells of others."""
    found = []
    for experiment, jobs in groupby(bundles, lambda bundle: bundle.experiment):
        tables, missing = list[pa.Table](), list[Cell]()
        for bundle in jobs:
            there, lacking = _cells_of(bundle, cells, store)
            tables += there
            missing += lacking
        rows = pa.concat_tables([results.SCHEMA.empty_table(), *tables]).select(_COLUMNS)
        found.append(_material(experiment, rows.to_pandas(), missing, config))
    return found


def _cells_of(
    bundle: Bundle, folder: Path, store: results.Store
) -> tuple[list[pa.Table], list[Cell]]:
    """The rows of a bundle's cells, and those that have none."""
    try:
        return [results.read_bundle(bundle, folder, results.SCHEMA.names)], []
    except results.ResultError:
        found = [(cell, store.get_either(cell.digest())) for cell in bundle.cells()]
        there = [table for _, table in found if table is not None]
        return there, [cell for cell, table in found if table is None]


def _material(experiment: str, rows: pd.DataFrame, missing: list[Cell], config: Config) -> Material:
    if (rows["metric"] == FAILED).all():
        return Material(experiment, rows, None, None, missing)
    measured, reference = spread(rows), getattr(config, experiment).compared_with
    # References alone are compared with nobody.
    can_lose = measured["metric"].isin(METRICS) & measured["value"].notna()
    can_lose &= ~measured["algorithm"].isin({*REFERENCES} - {reference})
    comparison = compare(measured, reference) if reference and can_lose.any() else None
    return Material(experiment, rows, summarise(measured), comparison, missing)
