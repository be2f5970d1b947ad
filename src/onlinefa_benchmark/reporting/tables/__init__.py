"""Tables of an experiment, made from its summary, its comparison and its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from onlinefa_benchmark.experiments.base import Experiment, ExperimentConfig, Metric

FORMATS = ("csv", "md", "tex", "html")


def compared_metrics(metrics: Mapping[str, Metric]) -> list[Metric]:
    """Return the metrics by which algorithms are tested against one another.

    They are the main metrics; if there are none, all metrics. The tests by one metric are a family.
    """
    return [metric for metric in metrics.values() if metric.is_main] or list(metrics.values())


def table_names(experiment: Experiment, config: ExperimentConfig) -> list[str]:
    """Return the names of an experiment's tables: those of metrics, comparisons, extra tables.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    config : ExperimentConfig
        Its configuration, which may add metrics and a comparison.
    """
    metrics = experiment.all_metrics(config)
    compared = [f"compared_{metric.name}" for metric in compared_metrics(metrics)]
    return [
        *metrics,
        *(["ranks", *compared] if config.compared_with else []),
        *(table.name for table in experiment.extra_tables),
    ]


def table_files(experiment: Experiment, config: ExperimentConfig) -> list[str]:
    """Return the files of an experiment's tables, in all formats, relative to their folder.

    Tables of metrics and comparisons are in a folder of the experiment; extra tables are not.
    """
    extra = [table.name for table in experiment.extra_tables]
    return [
        f"{name}.{suffix}" if name in extra else f"{experiment.name}/{name}.{suffix}"
        for name in table_names(experiment, config)
        for suffix in FORMATS
    ]


def write_tables(
    experiment: Experiment,
    config: ExperimentConfig,
    summary: Path,
    comparison: Path | None,
    datasets: Path,
    folder: Path,
) -> None:
    """Write all tables of an experiment, in all formats.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    config : ExperimentConfig
        Its configuration.
    summary : Path
        Parquet file of its summary.
    comparison : Path or None
        Parquet file of its comparison, if there is one.
    datasets : Path
        Folder of fetched datasets, for extra tables.
    folder : Path
        Folder to write to. Extra tables are written here, all others to a folder with the
        experiment's name.
    """
    import pandas as pd

    from onlinefa_benchmark.reporting.tables import compared, final, ranks
    from onlinefa_benchmark.reporting.tables.render import write_table

    metrics, summarised = experiment.all_metrics(config), pd.read_parquet(summary)
    tables = {
        metric.name: final.make_table(experiment, summarised, metric) for metric in metrics.values()
    }
    if comparison:
        rows = pd.read_parquet(comparison)
        tables["ranks"] = ranks.make_table(rows, metrics)
        for metric in compared_metrics(metrics):
            tables[f"compared_{metric.name}"] = compared.make_table(experiment, rows, metric)
    for name, table in tables.items():
        outputs = [folder / experiment.name / f"{name}.{suffix}" for suffix in FORMATS]
        write_table(outputs, *table, experiment=experiment.name)
    for extra in experiment.extra_tables:
        outputs = [folder / f"{extra.name}.{suffix}" for suffix in FORMATS]
        write_table(outputs, *experiment.make_table(extra, config, datasets, summarised))
