"""Final values of one metric: a panel for each setting, a line for each algorithm."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onlinefa_benchmark.axes import ALGORITHM, Axis
from onlinefa_benchmark.looks import look
from onlinefa_benchmark.metrics.base import Metric
from onlinefa_benchmark.plotting.panels import new_panels
from onlinefa_benchmark.statistics.frames import sort_rows, sorted_values
from onlinefa_benchmark.statistics.seeds import describe_seeds


def draw_final_values(summary: pd.DataFrame, metric: Metric, setting: Sequence[Axis]) -> Figure:
    """Draw mean and standard error of a metric at the last step.

    Parameters
    ----------
    summary : DataFrame
        Summary of an experiment.
    metric : Metric
        The metric.
    setting : sequence of Axis
        Axes in which settings differ.
    """
    rows = summary[summary["metric"] == metric.name]
    rows = sort_rows(rows[rows["step"] == rows["step"].max()], setting)
    algorithms, keys = sorted_values(rows, ALGORITHM), [axis.name for axis in setting]
    panels = [panel for _, panel in rows.groupby(keys, sort=False, dropna=False)]
    height = 0.6 + 0.24 * len(algorithms)
    figure, axes = new_panels(
        len(panels), lambda across, down: (2 + 2.6 * across, 1.4 + height * down), sharey=True
    )
    for panel, axis in zip(panels, axes.flat, strict=False):
        _draw_panel(axis, panel, algorithms)
        first = panel.iloc[0]
        axis.set_title(
            ", ".join(f"{each.title} {each.format(first[each.name])}" for each in setting),
            fontsize="small",
        )
    figure.supxlabel(
        f"{metric.label}, {metric.direction}; {describe_seeds(rows, keys)}", fontsize="small"
    )
    return figure


def _draw_panel(axis: Axes, rows: pd.DataFrame, algorithms: list[str]) -> None:
    for place, algorithm in enumerate(algorithms):
        own, drawn = rows[rows["algorithm"] == algorithm], look(algorithm)
        own = own[own["mean"].notna()]
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
