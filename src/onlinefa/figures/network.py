"""Test log-likelihood of networks on tables."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onlinefa.figures import style  # noqa: F401  (sets the style)
from onlinefa.presentation import METRICS, in_order, look, over_seeds

_METRIC = "test_nll"
_ACROSS = 4


def draw(summary: pd.DataFrame) -> Figure:
    """A panel per dataset, a line per algorithm."""
    rows = summary[summary["metric"] == _METRIC]
    datasets, algorithms = sorted(rows["dataset"].unique()), in_order(list(set(rows["algorithm"])))
    across = min(_ACROSS, len(datasets))
    down = -(-len(datasets) // across)
    figure, axes = plt.subplots(
        down, across, squeeze=False, sharey=True, layout="constrained",
        figsize=(2 + 2.3 * across, 1.2 + (0.6 + 0.19 * len(algorithms)) * down),
    )  # fmt: skip
    for axis in axes.flat[len(datasets) :]:
        axis.set_axis_off()
    for dataset, axis in zip(datasets, axes.flat, strict=False):
        _draw_panel(axis, rows[rows["dataset"] == dataset], algorithms)
        axis.set_title(dataset.replace("_", " "))
    figure.supxlabel(
        f"{METRICS[_METRIC].label}, {METRICS[_METRIC].better}; "
        f"{over_seeds(rows)}\nSplits differ more than algorithms do: "
        "paired differences, in the tables, are sharper than these bars.",
        fontsize="small",
    )
    return figure


def _draw_panel(axis: Axes, rows: pd.DataFrame, algorithms: list[str]) -> None:
    shown = rows[rows["mean"].notna()]
    for place, algorithm in enumerate(algorithms):
        own, drawn = shown[shown["algorithm"] == algorithm], look(algorithm)
        if len(own):
            axis.errorbar(
                own["mean"], [place], xerr=np.nan_to_num(own["standard_error"]),
                color=drawn.colour, marker=drawn.marker, linestyle="none", capsize=2,
            )  # fmt: skip
    axis.set_yticks(range(len(algorithms)), [look(name).label for name in algorithms])
    axis.set_ylim(len(algorithms) - 0.5, -0.5)
    _leave_out_the_worst(axis, shown)


def _leave_out_the_worst(axis: Axes, rows: pd.DataFrame) -> None:
    """A panel ends where three quarters of the algorithms do, and half as far again; what lies
    beyond is written down."""
    low, middle = rows["mean"].min(), rows["mean"].quantile(0.75)
    end = middle + 1.5 * (middle - low) + 2 * rows["standard_error"].max(skipna=True)
    beyond = rows[rows["mean"] > end]
    if len(beyond) and np.isfinite(end):
        axis.set_xlim(right=end)
        names = ", ".join(
            f"{look(a).label} {m:.3g}"
            for a, m in zip(beyond["algorithm"], beyond["mean"], strict=True)
        )
        axis.set_xlabel(f"beyond: {names}", fontsize="x-small")
