"""Figures and tables of chapter 6."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onlinefa_benchmark.axes import ALGORITHM, DATASET, WALK, K
from onlinefa_benchmark.experiments.base import Experiment
from onlinefa_benchmark.experiments.linear.dataset_table import table_6_1
from onlinefa_benchmark.experiments.linear.estimate_figures import (
    choose_walk,
    describe_missing_seeds,
    describe_walk,
    figure_6_4,
    figure_6_5,
    figure_6_9,
    figure_6_10,
)
from onlinefa_benchmark.experiments.linear.plane_figure import figure_6_7
from onlinefa_benchmark.experiments.linear.walk_figures import figure_6_8, figure_6_11
from onlinefa_benchmark.looks import look
from onlinefa_benchmark.plotting.convergence import Layout, draw_convergence
from onlinefa_benchmark.statistics.frames import sorted_values
from onlinefa_benchmark.statistics.seeds import describe_seeds

__all__ = [
    "figure_6_1",
    "figure_6_2",
    "figure_6_3",
    "figure_6_4",
    "figure_6_5",
    "figure_6_6",
    "figure_6_7",
    "figure_6_8",
    "figure_6_9",
    "figure_6_10",
    "figure_6_11",
    "table_6_1",
]

_LAYOUT = Layout(
    rows=[DATASET],
    columns=[K],
    title="{dataset}, K = {K}",
    x_label="epochs",
    x_scale="linear",
    place="epoch {:,}",
)

# In order, from the posterior to the estimate.
_STEPS = {
    "loss_of_sgd": ("the walk's stationary law", "#C8C8C8"),
    "loss_of_finite_walk": ("the walk is finite", "#56B4E9"),
    "loss_of_rank": ("rank K", "#0072B2"),
    "loss_of_algorithm": ("the algorithm", "#D55E00"),
}


def figure_6_1(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw the relative distance of estimated means from the posterior mean, against epochs."""
    return _draw_over_epochs(experiment, summary, "relative_mean_distance")


def figure_6_2(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw the relative distance of estimated from posterior covariances, against epochs."""
    return _draw_over_epochs(experiment, summary, "relative_frobenius")


def figure_6_3(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw the 2-Wasserstein distance of estimates from the posterior, against epochs."""
    return _draw_over_epochs(
        experiment,
        summary,
        "wasserstein2",
        lines={"loss_of_sgd": "stationary law of the walk"},
        numbers={"floor_of_rank": "best factor analysis of the posterior"},
    )


def _draw_over_epochs(
    experiment: Experiment,
    summary: pd.DataFrame,
    metric: str,
    lines: Mapping[str, str] | None = None,
    numbers: Mapping[str, str] | None = None,
) -> Figure:
    """Draw distances against epochs: a row of panels for each dataset, a column for each K."""
    rows = choose_walk(summary)
    layout = replace(_LAYOUT, note=describe_walk(rows), lines=lines or {}, numbers=numbers or {})
    known = experiment.all_metrics()
    return draw_convergence(rows, known[metric], layout, experiment.setting_keys)


def figure_6_6(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw the steps from the posterior to an estimate as stacked bars.

    There is a row of panels for each dataset, a column for each walk, and a bar for each algorithm.
    """
    rows = summary[summary["K"] == summary["K"].max()]
    datasets, walks = sorted_values(rows, DATASET), sorted_values(rows, WALK)
    figure, axes = plt.subplots(
        len(datasets),
        len(walks),
        squeeze=False,
        sharex=True,
        sharey="row",
        layout="constrained",
        figsize=(1.2 + 2.7 * max(2, len(walks)), 1.6 + 2.1 * len(datasets)),
    )
    algorithms = sorted_values(rows, ALGORITHM)
    for dataset, line in zip(datasets, axes, strict=True):
        for walk, axis in zip(walks, line, strict=True):
            here = rows[(rows["dataset"] == dataset) & (rows["walk"] == walk)]
            _draw_bars(axis, here, algorithms)
        line[0].set_ylabel(f"{DATASET.format(dataset)}\n2-Wasserstein distance")
    for walk, axis in zip(walks, axes[0], strict=True):
        axis.set_title(WALK.format(walk))
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=min(3, len(walks)),
        title=f"K = {rows['K'].iloc[0]}; {describe_seeds(rows, experiment.setting_keys)}",
    )
    return figure


def _draw_bars(axis: Axes, rows: pd.DataFrame, algorithms: list[str]) -> None:
    last = rows[(rows["step"] == rows["step"].max()) & rows["i"].isna()]
    table = last.pivot(index="algorithm", columns="metric", values="mean").reindex(algorithms)
    x, height = np.arange(len(algorithms)), np.zeros(len(algorithms))
    for metric, (label, colour) in _STEPS.items():
        part = table[metric].fillna(0).to_numpy()
        axis.bar(x, part, bottom=height, color=colour, label=label, width=0.75, linewidth=0)
        height += part
    errors = last[last["metric"] == "wasserstein2"].set_index("algorithm")["standard_error"]
    axis.errorbar(
        x,
        table["wasserstein2"],
        yerr=errors.reindex(algorithms).fillna(0),
        color="black",
        marker="_",
        markersize=13,
        markeredgewidth=2,
        linestyle="none",
        capsize=2,
        label="distance of the estimate from the posterior",
    )
    axis.axhline(
        table["floor_of_rank"].mean(),
        color="black",
        linestyle=":",
        linewidth=1,
        label="best factor analysis of the posterior",
    )
    notes = describe_missing_seeds(rows)
    if table["loss_of_sgd"].isna().all():
        notes.append("no stationary law: its step is missing")
    axis.text(
        0.5,
        0.97,
        "\n".join(notes),
        transform=axis.transAxes,
        ha="center",
        va="top",
        fontsize="x-small",
    )
    axis.grid(axis="x", visible=False)
    axis.set_xticks(x, [look(name).label for name in algorithms], rotation=60, ha="right")
