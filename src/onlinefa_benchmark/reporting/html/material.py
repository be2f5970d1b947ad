"""The content of a report: of a finished run, or of the cells that are finished so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pandas as pd
import pyarrow as pa

from onlinefa_benchmark import experiments
from onlinefa_benchmark.analysis.comparison import compare
from onlinefa_benchmark.analysis.failures import fill_in_failures
from onlinefa_benchmark.analysis.summary import summarise
from onlinefa_benchmark.cells import Bundle, Cell
from onlinefa_benchmark.config import Config
from onlinefa_benchmark.experiments.base import Experiment, Metric
from onlinefa_benchmark.storage import result_file
from onlinefa_benchmark.storage.schema import FAILED, schema
from onlinefa_benchmark.storage.store import Store


@dataclass(frozen=True)
class Material:
    """Results of one experiment.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    metrics : mapping of str to Metric
        Its metrics, with those that the configuration adds.
    rows : DataFrame
        Rows of all cells, including failed ones.
    summary : DataFrame or None
        Its summary; None if there is not a single value.
    comparison : DataFrame or None
        Its comparison, if there is one.
    missing : sequence of Cell
        Cells without a result.
    """

    experiment: Experiment
    metrics: Mapping[str, Metric]
    rows: pd.DataFrame
    summary: pd.DataFrame | None
    comparison: pd.DataFrame | None
    missing: Sequence[Cell] = ()

    @property
    def name(self) -> str:
        """Name of the experiment."""
        return self.experiment.name

    @property
    def added(self) -> list[str]:
        """Names of the metrics that the configuration adds."""
        own = {metric.name for metric in self.experiment.metrics}
        return [name for name in self.metrics if name not in own]

    @property
    def has_values(self) -> bool:
        """Whether any cell has a value."""
        return self.summary is not None and bool((self.summary["ok"] > 0).any())


def read_finished(
    bundles: Sequence[Bundle],
    config: Config,
    cells: Path,
    summaries: Path,
    comparisons: Path,
) -> list[Material]:
    """Read the results of a finished run.

    Parameters
    ----------
    bundles : sequence of Bundle
        All jobs.
    config : Config
        Configuration of the run.
    cells : Path
        Folder of the jobs' results.
    summaries, comparisons : Path
        Folders of Parquet files, named after their experiments.
    """
    found = []
    for name, jobs in groupby(bundles, lambda bundle: bundle.experiment):
        experiment, own = experiments.load(name), config.experiments[name]
        rows = result_file.read_bundles(jobs, cells, schema(name).names)
        summary = pd.read_parquet(summaries / f"{name}.parquet")
        comparison = pd.read_parquet(comparisons / f"{name}.parquet") if own.compared_with else None
        found.append(Material(experiment, experiment.all_metrics(own), rows, summary, comparison))
    return found


def read_partial(
    bundles: Sequence[Bundle], config: Config, cells: Path, store: Store
) -> list[Material]:
    """Read the results of a run that is not finished: finished jobs, and finished cells of others.

    Parameters
    ----------
    bundles : sequence of Bundle
        All jobs.
    config : Config
        Configuration of the run.
    cells : Path
        Folder of the jobs' results.
    store : Store
        Store of finished cells.
    """
    found = []
    for name, jobs in groupby(bundles, lambda bundle: bundle.experiment):
        tables, missing = list[pa.Table](), list[Cell]()
        for bundle in jobs:
            present, absent = _read_cells(bundle, cells, store)
            tables += present
            missing += absent
        rows = pa.concat_tables([schema(name).empty_table(), *tables]).to_pandas()
        found.append(summarise_rows(name, config, rows, missing))
    return found


def _read_cells(bundle: Bundle, folder: Path, store: Store) -> tuple[list[pa.Table], list[Cell]]:
    """Return the rows of a job's cells, and the cells that have none."""
    try:
        return [result_file.read_bundle(bundle, folder, schema(bundle.experiment).names)], []
    except result_file.ResultError:
        found = [(cell, store.get_finished_or_failed(cell.digest())) for cell in bundle.cells()]
        present = [table for _, table in found if table is not None]
        return present, [cell for cell, table in found if table is None]


def summarise_rows(
    name: str, config: Config, rows: pd.DataFrame, missing: Sequence[Cell]
) -> Material:
    """Summarise and compare the rows of the cells that an experiment has so far."""
    experiment, own = experiments.load(name), config.experiments[name]
    metrics = experiment.all_metrics(own)
    if (rows["metric"] == FAILED).all():
        return Material(experiment, metrics, rows, None, None, missing)
    references, reference = config.references(name), own.compared_with
    filled_in = fill_in_failures(rows)
    # References are not compared with one another.
    is_compared = filled_in["metric"].isin(list(metrics)) & filled_in["value"].notna()
    is_compared &= ~filled_in["algorithm"].isin([name for name in references if name != reference])
    comparison = (
        compare(filled_in, reference, metrics, references)
        if reference and is_compared.any()
        else None
    )
    summary = summarise(filled_in, metrics, references)
    return Material(experiment, metrics, rows, summary, comparison, missing)
