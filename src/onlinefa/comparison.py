"""From the rows of all cells to tests: each algorithm against one of them, and their ranks.

Only the last step is compared. The family of tests over which p is adjusted is everything that one
table prints: all algorithms in all settings of an experiment, by one metric. To look through many
metrics for one that shows something is beyond what any of these tests allows for.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from onlinefa import results
from onlinefa.cell import Bundle
from onlinefa.failures import read_measured
from onlinefa.presentation import METRICS, REFERENCES, losses
from onlinefa.ranking import Ranking, ranked
from onlinefa.significance import holm, seeds_needed
from onlinefa.stats import mean_ranks, paired

_SETTING = [key for key in results.KEYS if key not in ("algorithm", "seed")] + ["step"]
_GROUP = [*_SETTING, "metric", "algorithm"]


def compare(rows: pd.DataFrame, reference: str) -> pd.DataFrame:
    """One row per setting, metric and algorithm, the reference among them: `difference` of losses
    (negative: better than the reference), its `standard_error`, `pairs`, `lost` pairs, `effect` and
    `p` of Wilcoxon's test, `p_holm`, `seeds_needed` and `mean_rank`.

    What others are held against takes part only if it is the reference, and is never ranked.
    """
    others = [name for name in REFERENCES if name != reference]
    rows = rows[rows["metric"].isin(METRICS) & ~rows["algorithm"].isin(others)]
    parts = [_by_metric(part, reference) for _, part in rows.groupby("metric")]
    return pd.concat(parts, ignore_index=True).assign(compared_with=reference)


def _by_metric(rows: pd.DataFrame, reference: str) -> pd.DataFrame:
    rows = rows[rows["step"] == rows["step"].max()]
    rows = rows.assign(loss=_nine_digits(losses(rows)))
    # Who neither has a value anywhere nor diverged is not measured by this metric: angles of
    # factors, without factors. What a cell that failed would have had, its other cells tell.
    is_measured = rows["loss"].notna() | (rows["status"] == "diverged")
    has_failed = rows["status"] == results.FAILED
    rows = rows[
        is_measured.groupby(rows["algorithm"]).transform("any")
        | has_failed.groupby(rows["algorithm"]).transform("all")
    ]
    if rows.empty:
        return rows[_GROUP]
    compared = rows.groupby(_GROUP, dropna=False).size().index.to_frame(index=False)
    # Whoever failed is worse than all others; what is missing now was not tried.
    table = rows.assign(loss=rows["loss"].fillna(np.inf)).pivot(
        index=[*_SETTING, "seed"], columns="algorithm", values="loss"
    )
    ranks = mean_ranks(table.drop(columns=[*REFERENCES], errors="ignore"), _SETTING)
    if reference not in table:
        table[reference] = np.nan
    for part in (paired(table, _SETTING, reference), ranks):
        compared = compared.merge(part.reset_index(), how="left", on=[*_SETTING, "algorithm"])
    compared = compared.fillna({"pairs": 0, "lost": 0}).astype({"pairs": int, "lost": int})
    deviation = compared["standard_error"] * np.sqrt(compared["pairs"])
    needed = seeds_needed(compared["difference"].to_numpy(), deviation.to_numpy())
    return compared.assign(p_holm=holm(compared["p"].to_numpy()), seeds_needed=needed)


def _nine_digits(values: pd.Series) -> pd.Series:
    """Beyond nine digits, values are only rounded differently: no test is to find that."""
    scale = 10 ** (8 - np.floor(np.log10(values.abs().where(values != 0, 1))))
    return (values * scale).round() / scale


def ranking(comparison: pd.DataFrame, metric: str) -> Ranking:
    """Average ranks over datasets, or over settings where there are no several datasets.

    Widths of networks, or walks, on one table are no more independent than its splits.
    """
    rows = comparison[(comparison["metric"] == metric) & comparison["mean_rank"].notna()]
    several = rows["dataset"].nunique() > 1
    block, called = (["dataset"], "datasets") if several else (_SETTING, "settings")
    keys = [rows[key] for key in [*block, "algorithm"]]
    places = rows["mean_rank"].groupby(keys, dropna=False).mean().unstack("algorithm")
    return ranked(places, called)


def write_comparison(reference: str, bundles: Sequence[Bundle], folder: Path, output: Path) -> None:
    """Compare what the bundles' jobs have left in a folder."""
    columns = [*results.KEYS, "step", "metric", "value", "status"]
    comparison = compare(read_measured(bundles, folder, columns), reference)
    results.write(pa.Table.from_pandas(comparison, preserve_index=False), output)
