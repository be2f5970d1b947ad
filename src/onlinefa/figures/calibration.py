"""Calibration of networks on tables: how many targets are below a level, against the level."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from onlinefa.figures.style import nothing_to_draw
from onlinefa.presentation import in_order, look, over_seeds

_ACROSS = 4


def draw(summary: pd.DataFrame) -> Figure:
    """A panel per dataset, a line per algorithm: observed less expected shares."""
    rows = summary[summary["metric"].str.startswith("calibration[")]
    if rows["mean"].isna().all():
        return nothing_to_draw("networks that could be fitted")
    rows = rows.assign(level=rows["metric"].str.extract(r"\[(\d+)\]", expand=False).astype(float))
    datasets = sorted(rows["dataset"].unique())
    across = min(_ACROSS, len(datasets))
    down = -(-len(datasets) // across)
    figure, axes = plt.subplots(
        down, across, squeeze=False, sharex=True, sharey=True, layout="constrained",
        figsize=(max(8.5, 1 + 2.6 * across), 2.2 + 2.3 * down),
    )  # fmt: skip
    for axis in axes.flat[len(datasets) :]:
        axis.set_axis_off()
    for dataset, axis in zip(datasets, axes.flat, strict=False):
        axis.axhline(0, color="black", linewidth=0.8)
        here = rows[rows["dataset"] == dataset].sort_values("level")
        for algorithm in in_order(list(here["algorithm"].unique())):
            own, drawn = here[here["algorithm"] == algorithm], look(algorithm)
            axis.plot(
                own["level"], 100 * own["mean"] - own["level"], color=drawn.colour,
                marker=drawn.marker, markevery=3, markersize=3.5, linestyle=drawn.line,
                linewidth=1, label=drawn.label,
            )  # fmt: skip
        axis.set_title(dataset.replace("_", " "))
    for axis in axes[-1]:
        axis.set_xlabel("level (per cent)")
    for axis in axes[:, 0]:
        axis.set_ylabel("below it, less the level")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, ncols=5, loc="outside lower center", fontsize="small",
        title="zero is calibrated; above, then below it is too narrow, the reverse too wide; "
        + over_seeds(rows, "mean"),
    )  # fmt: skip
    return figure
