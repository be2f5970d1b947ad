"""The number of factors that an algorithm finds, against T: a panel per D, a line per true K."""

from __future__ import annotations

from itertools import cycle

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from onlinefa.figures import style  # noqa: F401  (sets the style)
from onlinefa.presentation import bounds, look, over_seeds

_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")


def draw(summary: pd.DataFrame) -> Figure:
    found = summary[summary["metric"] == "components"]
    # An algorithm that is told K has nothing to show, unless nobody has more to show than that.
    chosen = set(found.loc[found["mean"] != found["K"], "algorithm"]) or set(found["algorithm"])
    panels = [
        rows
        for (algorithm, *_), rows in found.groupby(["algorithm", "spectrum", "D"])
        if algorithm in chosen
    ]
    figure, axes = plt.subplots(
        1, max(len(panels), 1), squeeze=False, sharey=True, layout="constrained",
        figsize=(1 + 4 * max(len(panels), 1), 3.8),
    )  # fmt: skip
    for axis, rows in zip(axes.flat, panels, strict=False):
        _draw_panel(axis, rows)
    axes[0, 0].set_ylabel("number of factors")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=max(len(labels), 1),
        title=over_seeds(summary) + "; dotted: the truth",
    )  # fmt: skip
    return figure


def _draw_panel(axis: Axes, rows: pd.DataFrame) -> None:
    for colour, K in zip(cycle(_COLOURS), sorted(rows["K"].unique()), strict=False):
        line = rows[rows["K"] == K]
        axis.axhline(K, color=colour, linestyle=":", linewidth=1)
        axis.errorbar(
            line["step"], line["mean"], yerr=line["standard_error"], color=colour, marker="o",
            capsize=2, elinewidth=1, label=f"K = {K}",
        )  # fmt: skip
    first = rows.iloc[0]
    range_ = "{:,}, {:,}".format(*bounds(first["spectrum"]))
    axis.set_title(f"{look(first['algorithm']).label}\nD = {first['D']}, $s^2$ ~ U({range_})")
    axis.set_xscale("log")
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_xlabel("number of samples T")
