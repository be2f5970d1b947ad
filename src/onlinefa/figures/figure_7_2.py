"""Figure 7.2: how far posteriors are from the Gaussian process, against the width of networks."""

from __future__ import annotations

import textwrap
from dataclasses import replace

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from onlinefa.figures.chapter7 import LAYOUT, name_widths, without_features
from onlinefa.figures.convergence import add_legend, draw_panel
from onlinefa.figures.style import nothing_to_draw
from onlinefa.presentation import METRICS, over_seeds

_METRICS = ("function_wasserstein2", "mean_error", "sd_ratio")


def draw(summary: pd.DataFrame) -> Figure:
    """A row of panels per dataset, a column per metric."""
    rows = without_features(summary)
    if rows.empty:
        return nothing_to_draw("networks")
    datasets = sorted(rows["dataset"].unique())
    figure, axes = plt.subplots(
        len(datasets), len(_METRICS), squeeze=False, sharex=True, layout="constrained",
        figsize=(1 + 3.6 * len(_METRICS), 1.6 + 2.4 * len(datasets)),
    )  # fmt: skip
    for dataset, line in zip(datasets, axes, strict=True):
        for metric, axis in zip(_METRICS, line, strict=True):
            is_ratio = metric == "sd_ratio"
            # Most posteriors are much too narrow, and one is in sight all the same.
            layout = replace(LAYOUT, headroom=30) if is_ratio else LAYOUT
            draw_panel(axis, rows[rows["dataset"] == dataset], metric, layout)
            if is_ratio:
                axis.axhline(1, color="#333333", linewidth=1, linestyle=":")
        line[0].set_ylabel(dataset)
    for metric, axis in zip(_METRICS, axes[0], strict=True):
        axis.set_title(textwrap.fill(METRICS[metric].label, 34))
    for axis in axes[-1]:
        axis.set_xlabel(LAYOUT.x_label)
        name_widths(axis, rows)
    add_legend(
        figure,
        f"K = {rows['K'].iloc[0]}",
        "NUTS where its chains agree; the standard deviation of MAP is zero",
        over_seeds(rows),
    )
    return figure
