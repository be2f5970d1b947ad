"""Figures of chapter 7."""

from __future__ import annotations

import math
import textwrap
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onlinefa_benchmark.axes import ALGORITHM, DATASET, K
from onlinefa_benchmark.experiments.base import Experiment
from onlinefa_benchmark.looks import look
from onlinefa_benchmark.plotting.convergence import (
    Layout,
    add_legend,
    draw_convergence,
    draw_panel,
)
from onlinefa_benchmark.plotting.ranks import draw_ranks
from onlinefa_benchmark.plotting.style import draw_placeholder
from onlinefa_benchmark.statistics.frames import entries, sorted_values
from onlinefa_benchmark.statistics.seeds import describe_seeds

# Approximations of the process itself, with as many features as a network has units.
_FEATURES = ("nystrom", "random_features", "fourier_features")
_DISTANCES = ("function_wasserstein2", "mean_error", "sd_ratio")

_COLUMNS = 4  # of panels of figure 7.1
_REACH = 1.4  # a panel of figure 7.1 shows this many times the band of the process
_ROUNDING = 1e-4  # smaller distances are those of an exact approximation

_LAYOUT = Layout(
    rows=[K],
    columns=[DATASET],
    title="{dataset}",
    x_label="hidden units",
    x_scale="log",
    place="width {:,}",
    x="width",
    headroom=4,
)


def figure_7_1(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw each posterior of a curve with a gap in its data, over the band of the process."""
    rows = _drop_features(summary)
    toy = _drop_diverging_chains(rows[rows["dataset"] == "toy"])
    if toy.empty:
        return draw_placeholder("toy")
    width = _choose_width(toy)
    toy = toy[toy["width"] == width]
    algorithms = sorted_values(toy, ALGORITHM)
    lines = math.ceil(len(algorithms) / _COLUMNS)
    figure, axes = plt.subplots(
        lines,
        _COLUMNS,
        squeeze=False,
        sharex=True,
        sharey=True,
        layout="constrained",
        figsize=(1 + 2.6 * _COLUMNS, 1.2 + 2.2 * lines),
    )
    for axis in axes.flat[len(algorithms) :]:
        axis.set_visible(False)
    for algorithm, axis in zip(algorithms, axes.flat, strict=False):
        _draw_bands(axis, toy[toy["algorithm"] == algorithm], algorithm)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=3,
        title=f"{width} hidden units, K = {toy['K'].iloc[0]}; "
        f"{describe_seeds(toy, experiment.setting_keys, 'mean')}; in standard deviations of the "
        "data",
    )
    return figure


def figure_7_2(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw how far posteriors are from the Gaussian process, against the width of networks.

    There is a row of panels for each dataset and a column for each metric.
    """
    rows = _drop_features(summary)
    if rows.empty:
        return draw_placeholder("networks")
    known = experiment.all_metrics()
    datasets = sorted_values(rows, DATASET)
    figure, axes = plt.subplots(
        len(datasets),
        len(_DISTANCES),
        squeeze=False,
        sharex=True,
        layout="constrained",
        figsize=(1 + 3.6 * len(_DISTANCES), 1.6 + 2.4 * len(datasets)),
    )
    for dataset, line in zip(datasets, axes, strict=True):
        for metric, axis in zip(_DISTANCES, line, strict=True):
            is_ratio = metric == "sd_ratio"
            # Most posteriors are much too narrow; a larger headroom keeps the others visible.
            layout = replace(_LAYOUT, headroom=30) if is_ratio else _LAYOUT
            draw_panel(axis, rows[rows["dataset"] == dataset], known[metric], layout)
            if is_ratio:
                axis.axhline(1, color="#333333", linewidth=1, linestyle=":")
        line[0].set_ylabel(DATASET.format(dataset))
    for metric, axis in zip(_DISTANCES, axes[0], strict=True):
        axis.set_title(textwrap.fill(known[metric].label, 34))
    for axis in axes[-1]:
        axis.set_xlabel(_LAYOUT.x_label)
        _label_widths(axis, rows)
    add_legend(
        figure,
        f"K = {rows['K'].iloc[0]}",
        "NUTS where its chains agree; the standard deviation of MAP is zero",
        describe_seeds(rows, experiment.setting_keys),
    )
    return figure


def figure_7_3(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw the distance of the process on a number of features from the exact one."""
    rows = summary[summary["algorithm"].isin(_FEATURES)]
    if rows.empty:
        return draw_placeholder(", ".join(_FEATURES))
    # With a landmark at every row only rounding errors are left, which would squeeze the rest.
    is_distance = rows["metric"] == "function_wasserstein2"
    rows = rows[~is_distance | (rows["mean"] > _ROUNDING)]
    note = (
        "random Fourier features: those of the squared exponential, a different process; "
        "Nystrom: exact, and left out, with as many landmarks as rows"
    )
    layout = replace(_LAYOUT, x_label="number of features", place="{:,} features", note=note)
    metric = experiment.all_metrics()["function_wasserstein2"]
    figure = draw_convergence(rows, metric, layout, experiment.setting_keys)
    for axis in figure.axes:
        _label_widths(axis, rows)
    return figure


def gp_ranks(experiment: Experiment, comparison: pd.DataFrame) -> Figure:
    """Draw the ranks of posteriors by their distance from the Gaussian process."""
    return draw_ranks(comparison, experiment.all_metrics()["function_wasserstein2"])


def _drop_features(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of networks, without the process and its approximations by features."""
    return summary[~summary["algorithm"].isin([*_FEATURES, "gaussian_process"])]


def _drop_diverging_chains(rows: pd.DataFrame) -> pd.DataFrame:
    """Drop chains of NUTS that do not agree, which have no distance and are no reference."""
    distances = rows[
        (rows["algorithm"] == "nuts")
        & (rows["metric"] == "function_wasserstein2")
        & (rows["ok"] < rows["seeds"])
    ]
    missing = set(distances[["algorithm", "width"]].itertuples(index=False, name=None))
    pairs = zip(rows["algorithm"], rows["width"], strict=True)
    return rows[[pair not in missing for pair in pairs]]


def _choose_width(rows: pd.DataFrame) -> int:
    """Return the largest of the widths with the most posteriors."""
    numbers = rows.groupby("width")["algorithm"].nunique()
    return int(numbers[numbers == numbers.max()].index.max())


def _draw_bands(axis: Axes, rows: pd.DataFrame, algorithm: str) -> None:
    asked, mean, sd = (entries(rows, name) for name in ("asked", "function_mean", "function_sd"))
    true_mean, true_sd = entries(rows, "true_mean"), entries(rows, "true_sd")
    axis.fill_between(
        asked,
        true_mean - 2 * true_sd,
        true_mean + 2 * true_sd,
        color="#BBBBBB",
        linewidth=0,
        label="Gaussian process: two standard deviations",
    )
    axis.plot(asked, true_mean, color="#666666", linewidth=1, label="Gaussian process: mean")
    colour = "#D55E00"  # the same in all panels, which have titles
    axis.fill_between(
        asked,
        mean - 2 * sd,
        mean + 2 * sd,
        color=colour,
        alpha=0.35,
        linewidth=0,
        label="posterior: two standard deviations",
    )
    axis.plot(asked, mean, color=colour, label="posterior: mean")
    axis.plot(
        entries(rows, "input"),
        entries(rows, "target"),
        ".",
        color="black",
        markersize=3,
        label="data",
    )
    lowest, highest = np.min(true_mean - 2 * true_sd), np.max(true_mean + 2 * true_sd)
    middle, half = (highest + lowest) / 2, (highest - lowest) / 2
    axis.set_ylim(middle - _REACH * half, middle + _REACH * half)
    axis.set_title(textwrap.fill(look(algorithm).label, 30))


def _label_widths(axis: Axes, rows: pd.DataFrame) -> None:
    """Set ticks at the widths that there are, and nowhere else."""
    widths = sorted(rows["width"].unique())
    axis.set_xticks(widths, [f"{width:g}" for width in widths], minor=False)
    axis.set_xticks([], minor=True)
