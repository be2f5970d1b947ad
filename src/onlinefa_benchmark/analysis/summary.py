"""Summaries: means, standard errors and paired differences over seeds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa

from onlinefa_benchmark import experiments
from onlinefa_benchmark.analysis.failures import read_measurements
from onlinefa_benchmark.cells import Bundle
from onlinefa_benchmark.config import Config
from onlinefa_benchmark.metrics.base import Metric
from onlinefa_benchmark.statistics.frames import compute_losses
from onlinefa_benchmark.statistics.paired_differences import behind_best
from onlinefa_benchmark.storage import result_file
from onlinefa_benchmark.storage.schema import key_columns


def group_columns(rows: pd.DataFrame) -> list[str]:
    """Return the columns in which the rows of a summary differ.

    Parameters
    ----------
    rows : DataFrame
        Rows of the cells of one experiment.
    """
    keys = key_columns(str(rows["experiment"].iloc[0]))
    return [*(key for key in keys if key != "seed"), "step", "metric", "i", "j"]


def summarise(
    rows: pd.DataFrame, metrics: Mapping[str, Metric], references: Collection[str]
) -> pd.DataFrame:
    """Compute means and standard errors over seeds.

    Parameters
    ----------
    rows : DataFrame
        Rows of the cells of one experiment, as `read_measurements` returns them.
    metrics : mapping of str to Metric
        Metrics of which some values are better than others, by name.
    references : collection of str
        Reference algorithms, which have no `behind`.

    Returns
    -------
    DataFrame
        One row per group of seeds. `seeds` counts all cells and `ok` those with a value; `statuses`
        gives the number and the status of the others. `behind` is the mean paired difference to the
        best algorithm of the same setting, and `behind_error` its standard error.
    """
    keys = group_columns(rows)
    groups = rows.groupby(keys, sort=True, dropna=False)
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
    summary = summary.join(_count_statuses(rows, keys)).fillna({"statuses": ""}).reset_index()
    summary = summary.merge(_compute_behind(rows, keys, metrics, references), how="left", on=keys)
    return summary.astype({"i": "Int64", "j": "Int64"})


def _count_statuses(rows: pd.DataFrame, keys: list[str]) -> pd.Series:
    """Return how many cells of a group have no value and why, such as ``2 diverged``."""
    without = rows[rows["status"] != "ok"]
    counted = without.groupby([*keys, "status"], dropna=False).size().reset_index(name="n")
    counted["statuses"] = counted["n"].astype(str) + " " + counted["status"]
    return counted.groupby(keys, dropna=False)["statuses"].agg(", ".join)


def _compute_behind(
    rows: pd.DataFrame,
    keys: list[str],
    metrics: Mapping[str, Metric],
    references: Collection[str],
) -> pd.DataFrame:
    """Return paired differences to the best algorithm of each setting."""
    rows = rows[rows["metric"].isin(list(metrics)) & ~rows["algorithm"].isin(list(references))]
    if rows.empty:
        return pd.DataFrame(columns=[*keys, "behind", "behind_error"]).astype(
            rows[keys].dtypes.to_dict() | {"behind": float, "behind_error": float}
        )
    compared = [key for key in keys if key != "algorithm"]
    table = rows.assign(loss=compute_losses(rows, metrics)).pivot(
        index=[*compared, "seed"], columns="algorithm", values="loss"
    )
    return behind_best(table, compared).reset_index()


def write_summary(
    config: Config,
    experiment: str,
    bundles: Sequence[Bundle],
    folder: Path,
    output: Path,
) -> None:
    """Summarise the results of an experiment.

    Parameters
    ----------
    config : Config
        Configuration of the run.
    experiment : str
        Name of the experiment.
    bundles : sequence of Bundle
        All of its jobs.
    folder : Path
        Folder of the jobs' results.
    output : Path
        Parquet file to write.
    """
    columns = [
        *key_columns(experiment),
        "step",
        "metric",
        "i",
        "j",
        "value",
        "status",
        "seconds",
        "contract",
        "networks",
    ]
    rows = read_measurements(bundles, folder, columns)
    metrics = experiments.load(experiment).all_metrics(config.experiments[experiment])
    summary = summarise(rows, metrics, config.references(experiment))
    result_file.write(pa.Table.from_pandas(summary, preserve_index=False), output)


def read_summary(path: Path) -> pd.DataFrame:
    """Read a summary."""
    return pd.read_parquet(path)
