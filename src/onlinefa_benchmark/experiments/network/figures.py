"""Figures of networks on tables and on digits."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onlinefa_benchmark.axes import ALGORITHM, DATASET
from onlinefa_benchmark.experiments.base import Experiment
from onlinefa_benchmark.looks import look
from onlinefa_benchmark.plotting.panels import new_panels
from onlinefa_benchmark.plotting.ranks import draw_ranks
from onlinefa_benchmark.plotting.style import draw_placeholder
from onlinefa_benchmark.statistics.frames import sorted_values
from onlinefa_benchmark.statistics.seeds import describe_seeds

_BINS = ("bin_share", "confidence", "bin_accuracy")


def network(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw test negative log-likelihoods: a panel for each dataset, a line for each algorithm."""
    metric = experiment.all_metrics()["test_nll"]
    rows = summary[summary["metric"] == metric.name]
    datasets, algorithms = sorted_values(rows, DATASET), sorted_values(rows, ALGORITHM)
    height = 0.6 + 0.19 * len(algorithms)
    figure, axes = new_panels(
        len(datasets), lambda across, down: (2 + 2.3 * across, 1.2 + height * down), sharey=True
    )
    for dataset, axis in zip(datasets, axes.flat, strict=False):
        _draw_likelihoods(axis, rows[rows["dataset"] == dataset], algorithms)
        axis.set_title(DATASET.format(dataset))
    figure.supxlabel(
        f"{metric.label}, {metric.direction}; {describe_seeds(rows, experiment.setting_keys)}\n"
        "Splits differ more than algorithms do: paired differences, in the tables, are sharper "
        "than these bars.",
        fontsize="small",
    )
    return figure


def calibration(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw the share of targets below a predicted level, minus the level, against the level."""
    rows = summary[summary["metric"] == "calibration"]
    if rows["mean"].isna().all():
        return draw_placeholder("networks that could be fitted")
    rows = rows.assign(level=rows["i"].astype(float))
    datasets = sorted_values(rows, DATASET)
    figure, axes = new_panels(
        len(datasets),
        lambda across, down: (max(8.5, 1 + 2.6 * across), 2.2 + 2.3 * down),
        sharex=True,
        sharey=True,
    )
    for dataset, axis in zip(datasets, axes.flat, strict=False):
        axis.axhline(0, color="black", linewidth=0.8)
        here = rows[rows["dataset"] == dataset].sort_values("level")
        for algorithm in sorted_values(here, ALGORITHM):
            own = here[here["algorithm"] == algorithm]
            axis.plot(
                own["level"],
                100 * own["mean"] - own["level"],
                label=look(algorithm).label,
                markevery=3,
                markersize=3.5,
                **_line_style(algorithm),
            )
        axis.set_title(DATASET.format(dataset))
    for axis in axes[-1]:
        axis.set_xlabel("level (per cent)")
    for axis in axes[:, 0]:
        axis.set_ylabel("share below it minus the level")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        ncols=5,
        loc="outside lower center",
        fontsize="small",
        title="zero is calibrated; above, then below zero is too narrow, the reverse too wide; "
        + describe_seeds(rows, experiment.setting_keys, "mean"),
    )
    return figure


def network_ranks(experiment: Experiment, comparison: pd.DataFrame) -> Figure:
    """Draw the ranks of posteriors by their test likelihood."""
    return draw_ranks(comparison, experiment.all_metrics()["test_nll"])


def reliability(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw accuracy minus confidence in bins of confidence, and the share of images in each."""
    bins = summary[summary["metric"].isin(_BINS)]
    if bins["mean"].isna().all():
        return draw_placeholder("networks that could be fitted")
    wide = (
        bins.pivot(index=["algorithm", "i"], columns="metric", values="mean")
        .reset_index()
        .dropna()
        .sort_values(by="confidence")
    )
    figure, (gap, share) = plt.subplots(
        2, 1, sharex=True, layout="constrained", figsize=(8, 6.4), height_ratios=[3, 1.4]
    )
    gap.axhline(0, color="black", linewidth=0.8)
    for algorithm in sorted_values(wide, ALGORITHM):
        own, line_style = wide[wide["algorithm"] == algorithm], _line_style(algorithm)
        difference = 100 * (own["bin_accuracy"] - own["confidence"])
        gap.plot(own["confidence"], difference, label=look(algorithm).label, **line_style)
        share.plot(own["confidence"], own["bin_share"], **line_style)
    gap.set_ylabel("accuracy minus confidence (per cent)")
    share.set(xlabel="confidence", ylabel="share of images", yscale="log")
    figure.legend(
        *gap.get_legend_handles_labels(),
        ncols=4,
        loc="outside lower center",
        fontsize="small",
        title="above zero underconfident, below zero overconfident; "
        + describe_seeds(summary, experiment.setting_keys, "mean"),
    )
    return figure


def _line_style(algorithm: str) -> dict[str, Any]:
    drawn = look(algorithm)
    return {
        "color": drawn.colour,
        "marker": drawn.marker,
        "linestyle": drawn.line,
        "linewidth": 1,
    }


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

    Two of the largest standard errors are added. Values beyond the limit are written below the
    panel.
    """
    low, middle = rows["mean"].min(), rows["mean"].quantile(0.75)
    end = middle + 1.5 * (middle - low) + 2 * rows["standard_error"].max(skipna=True)
    beyond = rows[rows["mean"] > end]
    if len(beyond) and np.isfinite(end):
        axis.set_xlim(right=end)
        names = ", ".join(
            f"{look(algorithm).label} {mean:.3g}"
            for algorithm, mean in zip(beyond["algorithm"], beyond["mean"], strict=True)
        )
        axis.set_xlabel(f"beyond: {names}", fontsize="x-small")
