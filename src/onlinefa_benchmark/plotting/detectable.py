"""Curves of the smallest difference that a comparison can detect against its number of seeds.

Such curves show whether a comparison has too few seeds to rank algorithms that are close to one
another ("Unstable rankings in Bayesian deep learning evaluation", arXiv 2604.23102, 2026).
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onlinefa_benchmark.axes import Axis
from onlinefa_benchmark.metrics.base import Metric
from onlinefa_benchmark.plotting.style import draw_placeholder
from onlinefa_benchmark.statistics.significance import detectable_difference

_SEEDS = np.unique(np.geomspace(3, 200, 40).round())


def draw_detectable(
    comparison: pd.DataFrame, metric: Metric, settings: Sequence[Axis], overlap: float
) -> Figure:
    """Draw a line for each setting, and a point at the number of seeds that it has.

    The standard deviation of paired differences is the median over algorithms.

    Parameters
    ----------
    comparison : DataFrame
        Comparison of an experiment.
    metric : Metric
        Metric whose differences are detected.
    settings : sequence of Axis
        Axes that make up a setting.
    overlap : float
        Ratio of test rows to training rows if seeds are splits of a table.
    """
    rows = comparison[
        (comparison["metric"] == metric.name)
        & (comparison["algorithm"] != comparison["compared_with"])
        & (comparison["pairs"] > 1)
        & (comparison["standard_error"] > 0)
    ]
    if rows.empty:
        return draw_placeholder("comparisons with several seeds")
    rows = rows.assign(deviation=rows["standard_error"] * np.sqrt(rows["pairs"]))
    figure, axis = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
    groups = rows.groupby([axis.name for axis in settings], dropna=False)
    colours = sns.color_palette("tab10" if groups.ngroups <= 10 else "husl", groups.ngroups)
    ends = []
    for (setting, own), colour in zip(groups, colours, strict=True):
        deviation, pairs = np.array(own["deviation"].median()), int(own["pairs"].max())
        curve = detectable_difference(deviation, _SEEDS, overlap)
        axis.plot(_SEEDS, curve, color=colour, linewidth=1.2)
        here = detectable_difference(deviation, np.array([pairs]), overlap)
        axis.plot([pairs], here, "o", color=colour, markersize=4)
        ends.append((float(curve[-1]), _name(settings, setting, rows), colour))
    axis.set(
        xscale="log",
        yscale="log",
        xlabel="number of seeds; a point is the present number",
        ylabel=f"detectable difference of the\n{metric.label}",
    )
    _label_ends(axis, ends)
    return figure


def _name(axes: Sequence[Axis], setting: tuple[object, ...], rows: pd.DataFrame) -> str:
    """Return the name of a setting: the values of those axes that have several."""
    named = [
        axis.format(value)
        for axis, value in zip(axes, setting, strict=True)
        if rows[axis.name].nunique() > 1
    ]
    return ", ".join(named) or axes[0].format(setting[0])


def _label_ends(axis: Axes, ends: list[tuple[float, str, object]]) -> None:
    """Write names to the right of the lines, in the order of their ends and not on one another."""
    ends = sorted(ends, key=lambda end: end[0])
    low, high = axis.get_ylim()
    step = np.log(high / low) / 24
    place = -np.inf
    for value, name, colour in ends:
        place = max(np.log(value), place + step)
        axis.annotate(
            name,
            xy=(_SEEDS[-1], value),
            xytext=(_SEEDS[-1] * 1.15, np.exp(place)),
            color=colour,
            fontsize="x-small",
            verticalalignment="center",
            annotation_clip=False,
        )
    axis.set_xlim(right=_SEEDS[-1] * 1.1)
