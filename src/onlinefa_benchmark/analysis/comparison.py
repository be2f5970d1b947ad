"""Comparisons: tests of all algorithms against one of them, and ranks of algorithms.

Only the last step is compared. The family of tests over which p is adjusted is everything that one
table prints: all algorithms in all settings of an experiment, by one metric. The adjustment does
not cover a search through many metrics for one that shows a difference.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from onlinefa_benchmark import experiments
from onlinefa_benchmark.analysis.failures import read_measurements
from onlinefa_benchmark.cells import Bundle
from onlinefa_benchmark.config import Config
from onlinefa_benchmark.metrics.base import Metric
from onlinefa_benchmark.statistics.frames import compute_losses
from onlinefa_benchmark.statistics.paired_differences import mean_ranks, paired
from onlinefa_benchmark.statistics.significance import holm, seeds_needed
from onlinefa_benchmark.storage import result_file
from onlinefa_benchmark.storage.schema import FAILED, key_columns

_VARYING = ("algorithm", "seed")


def compare(
    rows: pd.DataFrame,
    baseline: str,
    metrics: Mapping[str, Metric],
    references: Collection[str],
) -> pd.DataFrame:
    """Compare all algorithms with one of them, seed by seed, at the last step.

    Parameters
    ----------
    rows : DataFrame
        Rows of the cells of one experiment, as `read_measurements` returns them.
    baseline : str
        Algorithm that the others are compared with.
    metrics : mapping of str to Metric
        Metrics to compare by, by name. Values that have an index are not compared.
    references : collection of str
        Reference algorithms. They take part only if they are `baseline`, and are never ranked.

    Returns
    -------
    DataFrame
        One row per setting, metric and algorithm, including the baseline: `difference` of losses
        (negative if better than the baseline), its `standard_error`, `pairs`, `lost` pairs,
        `effect` and `p` of Wilcoxon's test, `p_holm`, `seeds_needed` and `mean_rank`.
    """
    setting = [
        *(key for key in key_columns(str(rows["experiment"].iloc[0])) if key not in _VARYING),
        "step",
    ]
    others = [name for name in references if name != baseline]
    rows = rows[
        rows["metric"].isin(list(metrics)) & rows["i"].isna() & ~rows["algorithm"].isin(others)
    ]
    rows = rows.assign(loss=_round_losses(compute_losses(rows, metrics)))
    parts = [
        _compare_metric(part, baseline, setting, references) for _, part in rows.groupby("metric")
    ]
    return pd.concat(parts, ignore_index=True).assign(compared_with=baseline)


def _compare_metric(
    rows: pd.DataFrame, baseline: str, setting: list[str], references: Collection[str]
) -> pd.DataFrame:
    rows = rows[rows["step"] == rows["step"].max()]
    # An algorithm that neither has a value anywhere nor diverged is not measured by this metric;
    # an example is the angles between factors for an algorithm without factors. A failed cell is
    # included if other cells of the algorithm are, or if all of them failed.
    is_measured = rows["loss"].notna() | (rows["status"] == "diverged")
    has_failed = rows["status"] == FAILED
    rows = rows[
        is_measured.groupby(rows["algorithm"]).transform("any")
        | has_failed.groupby(rows["algorithm"]).transform("all")
    ]
    group = [*setting, "metric", "algorithm"]
    if rows.empty:
        return rows[group]
    compared = rows.groupby(group, dropna=False).size().index.to_frame(index=False)
    # A failed fit is worse than all others. After `pivot`, values are missing only where no fit was
    # tried.
    table = rows.assign(loss=rows["loss"].fillna(np.inf)).pivot(
        index=[*setting, "seed"], columns="algorithm", values="loss"
    )
    ranks = mean_ranks(table.drop(columns=list(references), errors="ignore"), setting)
    if baseline not in table:
        table[baseline] = np.nan
    for part in (paired(table, setting, baseline), ranks):
        compared = compared.merge(part.reset_index(), how="left", on=[*setting, "algorithm"])
    compared = compared.fillna({"pairs": 0, "lost": 0}).astype({"pairs": int, "lost": int})
    deviation = compared["standard_error"] * np.sqrt(compared["pairs"])
    needed = seeds_needed(compared["difference"].to_numpy(), deviation.to_numpy())
    return compared.assign(p_holm=holm(compared["p"].to_numpy()), seeds_needed=needed)


def _round_losses(values: pd.Series) -> pd.Series:
    """Round to nine digits, so that no test finds differences that are rounding errors."""
    scale = 10 ** (8 - np.floor(np.log10(values.abs().where(values != 0, 1))))
    return (values * scale).round() / scale


def write_comparison(
    config: Config,
    experiment: str,
    bundles: Sequence[Bundle],
    folder: Path,
    output: Path,
) -> None:
    """Compare the algorithms of an experiment with the one that its configuration names.

    Parameters
    ----------
    config : Config
        Configuration of the run, in which the experiment has `compared_with`.
    experiment : str
        Name of the experiment.
    bundles : sequence of Bundle
        All of its jobs.
    folder : Path
        Folder of the jobs' results.
    output : Path
        Parquet file to write.
    """
    own = config.experiments[experiment]
    assert own.compared_with is not None
    columns = [*key_columns(experiment), "step", "metric", "i", "j", "value", "status"]
    rows = read_measurements(bundles, folder, columns)
    metrics = experiments.load(experiment).all_metrics(own)
    comparison = compare(rows, own.compared_with, metrics, config.references(experiment))
    result_file.write(pa.Table.from_pandas(comparison, preserve_index=False), output)
