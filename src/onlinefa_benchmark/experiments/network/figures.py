"""Figures of networks on tables, and the table of published results."""

from __future__ import annotations

from itertools import product
from textwrap import wrap

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onlinefa_benchmark.axes import ALGORITHM, DATASET
from onlinefa_benchmark.experiments.base import Experiment
from onlinefa_benchmark.experiments.network.published import network_published
from onlinefa_benchmark.looks import look
from onlinefa_benchmark.plotting.detectable import draw_detectable
from onlinefa_benchmark.plotting.panels import new_panels
from onlinefa_benchmark.plotting.ranks import draw_ranks
from onlinefa_benchmark.plotting.style import draw_placeholder
from onlinefa_benchmark.statistics.frames import sorted_values
from onlinefa_benchmark.statistics.seeds import describe_seeds

__all__ = ["calibration", "network", "network_detectable", "network_published", "network_ranks"]


def network(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw test negative log-likelihoods: a panel for each dataset, a line for each algorithm."""
    metric = experiment.all_metrics()["test_nll"]
    rows = summary[summary["metric"] == metric.name]
    panels, algorithms = _split_by_setting(rows), sorted_values(rows, ALGORITHM)
    height = 0.6 + 0.19 * len(algorithms)
    figure, axes = new_panels(
        len(panels), lambda across, down: (2 + 2.3 * across, 1.2 + height * down), sharey=True
    )
    for (title, own), axis in zip(panels.items(), axes.flat, strict=False):
        _draw_likelihoods(axis, own, algorithms)
        axis.set_title(title)
    note = (
        f"{metric.label}, {metric.direction}; {describe_seeds(rows, experiment.setting_keys)}. "
        "Splits differ more than algorithms do: paired differences, in the tables, are sharper "
        "than these bars."
    )
    figure.supxlabel(_wrap(note, figure), fontsize="small")
    return figure


def calibration(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw the coverage of 90 % intervals: a panel for each noise, a row for each algorithm."""
    rows = summary[(summary["metric"] == "coverage_90") & summary["mean"].notna()]
    if rows.empty:
        return draw_placeholder("networks that could be fitted")
    noises, algorithms = sorted(rows["noise"].unique()), sorted_values(rows, ALGORITHM)
    datasets = sorted_values(rows, DATASET)
    size = (2.6 + 0.62 * len(datasets) * len(noises), 1.6 + 0.24 * len(algorithms))
    figure, axes = plt.subplots(
        1,
        len(noises),
        figsize=(max(2.6 + 1.8 * len(noises), size[0]), size[1]),  # for the titles
        squeeze=False,
        sharey=True,
        layout="constrained",
    )
    for noise, axis in zip(noises, axes.flat, strict=True):
        shares = rows[rows["noise"] == noise].pivot(
            index="algorithm", columns="dataset", values="mean"
        )
        shares = 100 * shares.reindex(index=algorithms, columns=datasets)
        sns.heatmap(
            shares,
            ax=axis,
            annot=True,
            fmt=".0f",
            annot_kws={"size": "x-small"},
            cmap="RdBu",
            vmin=75,
            center=90,
            vmax=105,
            cbar=False,
            linewidths=0.5,
        )
        axis.set(title=f"noise: {noise}", xlabel="", ylabel="")
        axis.set_xticklabels([DATASET.format(name) for name in datasets], rotation=40, ha="right")
        axis.set_yticklabels([look(name).label for name in algorithms], rotation=0)
    note = (
        "Share of held-out targets in central 90 % intervals, in per cent: red is too narrow, blue "
        f"too wide; {describe_seeds(rows, experiment.setting_keys, 'mean')}."
    )
    figure.supxlabel(_wrap(note, figure), fontsize="small")
    return figure


def network_ranks(experiment: Experiment, comparison: pd.DataFrame) -> Figure:
    """Draw the ranks of posteriors by their test likelihood."""
    return draw_ranks(comparison, experiment.all_metrics()["test_nll"])


def network_detectable(experiment: Experiment, comparison: pd.DataFrame) -> Figure:
    """Draw the detectable differences of test likelihoods against the number of splits."""
    metric = experiment.all_metrics()["test_nll"]
    return draw_detectable(comparison, metric, experiment.setting_axes, experiment.overlap)


def _split_by_setting(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of each setting by its title, which names the noise if there are several."""
    noises = sorted(rows["noise"].unique())
    return {
        DATASET.format(dataset) + (f"\nnoise: {noise}" if len(noises) > 1 else ""): rows[
            (rows["dataset"] == dataset) & (rows["noise"] == noise)
        ]
        for dataset, noise in product(sorted_values(rows, DATASET), noises)
    }


def _wrap(text: str, figure: Figure) -> str:
    """Break a text into lines that are no wider than the figure."""
    return "\n".join(wrap(text, int(13 * figure.get_figwidth())))


def _draw_likelihoods(axis: Axes, rows: pd.DataFrame, algorithms: list[str]) -> None:
    shown = rows[rows["mean"].notna()]
    for place, algorithm in enumerate(algorithms):
        own, drawn = shown[shown["algorithm"] == algorithm], look(algorithm)
        if len(own):
            axis.errorbar(
                own["mean"],
                [place],
                xerr=np.nan_to_num(own["standard_error"]),
                color=drawn.colour,
                marker=drawn.marker,
                linestyle="none",
                capsize=2,
            )
    axis.set_yticks(range(len(algorithms)), [look(name).label for name in algorithms])
    axis.set_ylim(len(algorithms) - 0.5, -0.5)
    _cut_off_worst(axis, shown)


def _cut_off_worst(axis: Axes, rows: pd.DataFrame) -> None:
    """Limit a panel to the range of the best three quarters of algorithms, plus 1.5 times as much.

    Two median standard errors are added. Values beyond the limit are written below the panel.
    """
    low, middle = rows["mean"].min(), rows["mean"].quantile(0.75)
    end = middle + 1.5 * (middle - low) + 2 * rows["standard_error"].median()
    beyond = rows[rows["mean"] > end]
    if len(beyond) and np.isfinite(end):
        axis.set_xlim(right=end)
        names = ", ".join(
            f"{look(algorithm).label} {mean:.3g}"
            for algorithm, mean in zip(beyond["algorithm"], beyond["mean"], strict=True)
        )
        axis.set_xlabel("\n".join(wrap(f"beyond: {names}", 34)), fontsize="x-small")
