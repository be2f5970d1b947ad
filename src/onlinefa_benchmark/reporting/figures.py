"""Figures of experiments: the names of their files, and how they are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from onlinefa_benchmark import metrics
from onlinefa_benchmark.atomic_file import atomic
from onlinefa_benchmark.experiments.base import Experiment, Figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

FORMATS = ("png", "svg", "pdf")

# Without a date, the same figure gives the same file.
_METADATA: dict[str, dict[str, None]] = {
    "png": {},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}


def picture_files(
    experiment: Experiment,
    datasets: Iterable[str],
    is_compared: bool,
    added: Sequence[str] = (),
) -> list[str]:
    """Return the names of the files of all figures of an experiment, in all formats.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    datasets : iterable of str
        Its datasets, for figures with one picture for each.
    is_compared : bool
        Whether there is a comparison.
    added : sequence of str
        Names of the metrics that the configuration adds.
    """
    return [
        f"{name}.{suffix}"
        for figure, dataset in list_pictures(experiment, datasets, is_compared, added)
        for name in [picture_name(figure, dataset)]
        for suffix in FORMATS
    ]


def picture_name(figure: Figure, dataset: str = "") -> str:
    """Return the name of a picture's files, without suffix."""
    return f"{figure.name}_{dataset}" if dataset else figure.name


def describe_picture(figure: Figure, dataset: str = "") -> str:
    """Return what a picture shows, in words."""
    text = figure.alternative_text
    return f"{text} Dataset: {dataset.replace('_', ' ')}." if dataset else text


def write_figures(
    experiment: Experiment,
    summary: Path,
    comparison: Path | None,
    folder: Path,
    datasets: Iterable[str] | None = None,
    added: Sequence[str] = (),
    data: Path | None = None,
) -> None:
    """Draw all figures of an experiment, in all formats.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    summary : Path
        Parquet file of its summary.
    comparison : Path or None
        Parquet file of its comparison, if there is one.
    folder : Path
        Folder to write to.
    datasets : iterable of str, optional
        Datasets for figures with one picture for each; by default all of the summary.
    added : sequence of str
        Names of the metrics that the configuration adds.
    data : Path, optional
        Folder of fetched datasets, for figures that show them.
    """
    import matplotlib.pyplot as plt
    import pandas as pd

    from onlinefa_benchmark.plotting import style  # noqa: F401  (sets the style)

    summarised = pd.read_parquet(summary)
    compared = pd.read_parquet(comparison) if comparison else None
    names = summarised["dataset"].dropna().unique() if datasets is None else datasets
    for figure, dataset in list_pictures(experiment, names, compared is not None, added):
        rows = summarised if compared is None or not figure.from_comparison else compared
        own = rows[rows["dataset"] == dataset] if dataset else rows
        drawing, name = _draw(experiment, figure, own, data), picture_name(figure, dataset)
        save(drawing, [folder / f"{name}.{suffix}" for suffix in FORMATS])
        plt.close(drawing)


def _draw(experiment: Experiment, figure: Figure, rows: pd.DataFrame, data: Path | None) -> Drawing:
    from onlinefa_benchmark.plotting.final_values import draw_final_values

    if not figure.metric:
        drawing: Drawing = experiment.draw(figure, rows, data)
        return drawing
    metric = metrics.load(figure.metric).named(figure.metric)
    return draw_final_values(rows, metric, experiment.setting_axes)


def save(drawing: Drawing, outputs: Sequence[Path]) -> None:
    """Save a figure under each path, in the format of its suffix."""
    if layout := drawing.get_layout_engine():
        # The layout is computed once for all files. The second pass takes into account how far
        # panels with equal axes have shrunk in the first.
        layout.execute(drawing)
        layout.execute(drawing)
        drawing.set_layout_engine(None)  # for "none", matplotlib would draw each file twice
    for path in outputs:
        suffix = path.suffix[1:]
        with atomic(path) as temporary:
            drawing.savefig(temporary, format=suffix, metadata=_METADATA[suffix])


def list_pictures(
    experiment: Experiment,
    datasets: Iterable[str],
    is_compared: bool,
    added: Sequence[str] = (),
) -> Iterator[tuple[Figure, str]]:
    """Yield each figure with its dataset, which is empty if there is one picture for all."""
    names = list(datasets)
    for figure in experiment.all_figures(added):
        if is_compared or not figure.from_comparison:
            for dataset in names if figure.per_dataset else [""]:
                yield figure, dataset
