"""Figure 7.1: what each posterior says of a curve with a gap in its data."""

from __future__ import annotations

import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onlinefa.figures.chapter6 import entries
from onlinefa.figures.chapter7 import without_features
from onlinefa.figures.style import nothing_to_draw
from onlinefa.presentation import REFERENCES, in_order, look, over_seeds

_COLUMNS = 4
_REACH = 1.4  # a panel shows so many times what the process's band spans


def draw(summary: pd.DataFrame) -> Figure:
    """A panel per posterior of the width that is shown, over the band of the process."""
    rows = without_features(summary)
    toy = _converged(rows[rows["dataset"] == "toy"])
    if toy.empty:
        return nothing_to_draw("toy")
    width = _width(toy)
    toy = toy[toy["width"] == width]
    algorithms = in_order(list(toy["algorithm"].unique()))
    lines = math.ceil(len(algorithms) / _COLUMNS)
    figure, axes = plt.subplots(
        lines, _COLUMNS, squeeze=False, sharex=True, sharey=True, layout="constrained",
        figsize=(1 + 2.6 * _COLUMNS, 1.2 + 2.2 * lines),
    )  # fmt: skip
    for axis in axes.flat[len(algorithms) :]:
        axis.set_visible(False)
    for algorithm, axis in zip(algorithms, axes.flat, strict=False):
        _draw_panel(axis, toy[toy["algorithm"] == algorithm], algorithm)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=3,
        title=f"{width} hidden units, K = {toy['K'].iloc[0]}; "
        f"{over_seeds(toy, 'mean')}; in units of the data's spread",
    )  # fmt: skip
    return figure


def _converged(rows: pd.DataFrame) -> pd.DataFrame:
    """Without references that are none: chains that do not agree have no distance."""
    distances = rows[
        rows["algorithm"].isin(REFERENCES)
        & (rows["metric"] == "function_wasserstein2")
        & (rows["ok"] < rows["seeds"])
    ]
    missing = set(distances[["algorithm", "width"]].itertuples(index=False, name=None))
    pairs = zip(rows["algorithm"], rows["width"], strict=True)
    return rows[[pair not in missing for pair in pairs]]


def _width(rows: pd.DataFrame) -> int:
    """The width at which most posteriors were found, and of these the largest."""
    numbers = rows.groupby("width")["algorithm"].nunique()
    return int(numbers[numbers == numbers.max()].index.max())


def _draw_panel(axis: Axes, rows: pd.DataFrame, algorithm: str) -> None:
    asked, mean, sd = (entries(rows, name) for name in ("asked", "function_mean", "function_sd"))
    true_mean, true_sd = entries(rows, "true_mean"), entries(rows, "true_sd")
    axis.fill_between(
        asked, true_mean - 2 * true_sd, true_mean + 2 * true_sd, color="#BBBBBB", linewidth=0,
        label="Gaussian process: two standard deviations",
    )  # fmt: skip
    axis.plot(asked, true_mean, color="#666666", linewidth=1, label="Gaussian process: mean")
    colour = "#D55E00"  # the same in all panels, which have titles
    axis.fill_between(
        asked, mean - 2 * sd, mean + 2 * sd, color=colour, alpha=0.35, linewidth=0,
        label="posterior: two standard deviations",
    )  # fmt: skip
    axis.plot(asked, mean, color=colour, label="posterior: mean")
    axis.plot(
        entries(rows, "input"), entries(rows, "target"), ".", color="black", markersize=3,
        label="data",
    )  # fmt: skip
    lowest, highest = np.min(true_mean - 2 * true_sd), np.max(true_mean + 2 * true_sd)
    middle, half = (highest + lowest) / 2, (highest - lowest) / 2
    axis.set_ylim(middle - _REACH * half, middle + _REACH * half)
    axis.set_title(look(algorithm).label)
