"""From the rows of all cells to means, standard errors and paired differences over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa

from onlinefa import results
from onlinefa.cell import Bundle
from onlinefa.failures import read_measured
from onlinefa.presentation import METRICS, REFERENCES, losses
from onlinefa.stats import behind_best

GROUP = [key for key in results.KEYS if key != "seed"] + ["step", "metric"]
_COMPARED = [key for key in GROUP if key != "algorithm"]


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per group of seeds: mean and standard error of what is there, and what is not.

    `seeds` counts the cells, `ok` those with a value. A cell without one is never dropped in
    silence: it stays in `seeds`, and `statuses` names it. `behind` is the mean paired difference
    to the best algorithm of the same setting, and `behind_error` its standard error.
    """
    groups = rows.groupby(GROUP, sort=True, dropna=False)
    values = groups["value"]
    summary = pd.DataFrame(
        {
            "mean": values.mean(),
            "standard_error": values.sem(),
            "ok": values.count(),
            "seeds": groups.size(),
            "seconds": groups["seconds"].mean(),
            "contract": groups["contract"].first(),
            "networks": groups["networks"].first(),
        }
    )
    summary = summary.join(_statuses(rows)).fillna({"statuses": ""}).reset_index()
    return summary.merge(_behind(rows), how="left", on=GROUP)


def _statuses(rows: pd.DataFrame) -> pd.Series:
    """For each group with cells that have no value, how many there are and why: '2 diverged'."""
    trouble = rows[rows["status"] != "ok"]
    counted = trouble.groupby([*GROUP, "status"], dropna=False).size().reset_index(name="n")
    counted["statuses"] = counted["n"].astype(str) + " " + counted["status"]
    return counted.groupby(GROUP, dropna=False)["statuses"].agg(", ".join)


def _behind(rows: pd.DataFrame) -> pd.DataFrame:
    """Paired differences to the best algorithm of each setting, for what can be good or bad."""
    rows = rows[rows["metric"].isin(METRICS) & ~rows["algorithm"].isin(REFERENCES)]
    if rows.empty:
        return pd.DataFrame(columns=[*GROUP, "behind", "behind_error"])
    table = rows.assign(loss=losses(rows)).pivot(
        index=[*_COMPARED, "seed"], columns="algorithm", values="loss"
    )
    return behind_best(table, _COMPARED).reset_index()


def write_summary(bundles: Sequence[Bundle], folder: Path, output: Path) -> None:
    """Summarise what the bundles' jobs have left in a folder."""
    columns = [
        *results.KEYS, "step", "metric", "value", "status", "seconds", "contract", "networks",
    ]  # fmt: skip
    summary = summarise(read_measured(bundles, folder, columns))
    results.write(pa.Table.from_pandas(summary, preserve_index=False), output)


def read_summary(path: Path) -> pd.DataFrame:
    return pd.read_parquet(path)
