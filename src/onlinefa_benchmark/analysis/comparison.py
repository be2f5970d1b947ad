"""Comparisons: tests of all algorithms against one of them, and ranks of algorithms.

Only the last step is compared. The family of tests over which p is adjusted is everything that one
table tests: all algorithms in all settings of an experiment, or those that the configuration asks
for, by one metric. The adjustment does not cover a search through many metrics for one that shows a
difference.
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
from onlinefa_benchmark.statistics.significance import (
    detectable_difference,
    holm,
    seeds_needed,
    t_test,
)
from onlinefa_benchmark.storage import result_file
from onlinefa_benchmark.storage.schema import FAILED, key_columns

_VARYING = ("algorithm", "seed")


def compare(
    rows: pd.DataFrame,
    baseline: str,
    metrics: Mapping[str, Metric],
    references: Collection[str],
    overlap: float = 0.0,
    asked: Collection[str] | None = None,
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
    overlap : float, default=0
        Ratio of test rows to training rows if seeds are splits of a table.
    asked : collection of str, optional
        Algorithms that are tested; by default all of them.

    Returns
    -------
    DataFrame
        One row per setting, metric and algorithm, including the baseline: `difference` of losses
        (negative if better than the baseline), its `standard_error`, `pairs`, `lost` pairs,
        `effect` and `p` of Wilcoxon's test, `p_holm`, `p_t` of the paired t test, which is
        corrected for the overlap, and its `p_t_holm`, `seeds_needed`, the `detectable` difference
        and `mean_rank`.
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
    tested = [_test(part, overlap, asked) for part in parts]
    return pd.concat(tested, ignore_index=True).assign(compared_with=baseline)


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
    return compared.fillna({"pairs": 0, "lost": 0}).astype({"pairs": int, "lost": int})


def _test(compared: pd.DataFrame, overlap: float, asked: Collection[str] | None) -> pd.DataFrame:
    """Add the results of tests to the differences by one metric."""
    if "pairs" not in compared:  # nothing is measured by this metric
        return compared
    is_asked = compared["algorithm"].isin(list(asked or compared["algorithm"]))
    pairs, difference = compared["pairs"].to_numpy(float), compared["difference"].to_numpy()
    deviation = compared["standard_error"].to_numpy() * np.sqrt(pairs)
    p = np.where(is_asked, compared["p"], np.nan)
    # A lost pair has no difference, so that the t test does not hold.
    holds = (is_asked & (compared["lost"] == 0)).to_numpy()
    p_t = np.where(holds, t_test(difference, deviation, pairs, overlap), np.nan)
    return compared.assign(
        p=p,
        p_holm=holm(p),
        p_t=p_t,
        p_t_holm=holm(p_t),
        seeds_needed=seeds_needed(difference, deviation, overlap),
        detectable=detectable_difference(deviation, pairs, overlap),
    )


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
    described = experiments.load(experiment)
    comparison = compare(
        rows,
        own.compared_with,
        described.all_metrics(own),
        config.references(experiment),
        described.overlap,
        own.compared_algorithms,
    )
    result_file.write(pa.Table.from_pandas(comparison, preserve_index=False), output)
