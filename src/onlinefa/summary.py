"""From the rows of all cells to means and standard errors over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa

from onlinefa import results
from onlinefa.cell import Bundle
from onlinefa.grid import code_of
from onlinefa.stats import standard_error

GROUP = [key for key in results.KEYS if key != "seed"] + ["step", "metric"]


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per group of seeds: mean and standard error of what is there, and what is not.

    `seeds` counts the cells, `ok` those with a value. A cell without one is never dropped in
    silence: it stays in `seeds`, and `statuses` names it.
    """
    groups = rows.groupby(GROUP, sort=True, dropna=False)
    values = groups["value"]
    summary = pd.DataFrame(
        {
            "mean": values.mean(),
            "standard_error": values.agg(standard_error),
            "ok": values.count(),
            "seeds": groups.size(),
            "seconds": groups["seconds"].mean(),
        }
    )
    trouble = rows[rows["status"] != "ok"]
    counted = trouble.groupby([*GROUP, "status"], dropna=False).size().reset_index(name="n")
    counted["text"] = counted["n"].astype(str) + " " + counted["status"]
    statuses = counted.groupby(GROUP, dropna=False)["text"].agg(", ".join)
    summary["statuses"] = statuses.reindex(summary.index).fillna("").astype(str)
    return summary.reset_index()


def write_summary(bundles: Sequence[Bundle], folder: Path, output: Path) -> None:
    """Summarise what the bundles' jobs have left in a folder."""
    columns = [*results.KEYS, "step", "metric", "value", "status", "seconds"]
    tables = [results.read_bundle(bundle, code_of(bundle), folder, columns) for bundle in bundles]
    summary = summarise(pa.concat_tables(tables).to_pandas())
    results.write(pa.Table.from_pandas(summary, preserve_index=False), output)


def read_summary(path: Path) -> pd.DataFrame:
    return pd.read_parquet(path)
