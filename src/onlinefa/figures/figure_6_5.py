"""Figure 6.5: true against estimated means and variances of one dataset's weights."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onlinefa import data
from onlinefa.figures import style  # noqa: F401  (sets the style)
from onlinefa.figures.chapter6 import entries, missing_seeds, of_the_thesis, walk_of
from onlinefa.presentation import in_order, look, over_seeds


def draw(summary: pd.DataFrame) -> Figure:
    """A point per weight and algorithm; what is right lies on the diagonal."""
    rows = of_the_thesis(summary)
    rows = rows[rows["K"] == rows["K"].max()]
    notes, rows = missing_seeds(rows), rows[rows["mean"].notna()]
    figure, (means, variances) = plt.subplots(1, 2, layout="constrained", figsize=(9.5, 4.6))
    for algorithm in in_order(list(rows["algorithm"].unique())):
        own = rows[rows["algorithm"] == algorithm]
        if own["metric"].eq("mean[0]").any():
            _draw(means, algorithm, own, "mean")
            _draw(variances, algorithm, own, "covariance")
    means.set_xscale("symlog", linthresh=1)
    means.set_yscale("symlog", linthresh=1)
    variances.set_xscale("log")
    variances.set_yscale("log")
    for axis, quantity in ((means, "mean"), (variances, "variance")):
        _draw_diagonal(axis)
        axis.set(xlabel=f"posterior {quantity}", ylabel=f"estimated {quantity}")
    handles, labels = means.get_legend_handles_labels()
    facts = "; ".join([walk_of(rows), over_seeds(rows), *notes])
    figure.legend(handles, labels, title=facts, loc="outside lower center", ncols=4)
    title = data.table(rows["dataset"].iloc[0]).title
    figure.suptitle(f"{title}, K = {rows['K'].iloc[0]}: one point per weight")
    return figure


def _draw(axis: Axes, algorithm: str, rows: pd.DataFrame, quantity: str) -> None:
    drawn = look(algorithm)
    true, estimated, errors = (
        entries(rows, name, column)
        for name, column in [
            (f"true_{quantity}", "mean"), (quantity, "mean"), (quantity, "standard_error"),
        ]
    )  # fmt: skip
    if quantity == "covariance":
        true, estimated, errors = (np.diag(matrix) for matrix in (true, estimated, errors))
    axis.errorbar(
        true, estimated, yerr=np.nan_to_num(errors), label=drawn.label, color=drawn.colour,
        marker=drawn.marker, linestyle="none", capsize=2, elinewidth=1, alpha=0.8,
    )  # fmt: skip


def _draw_diagonal(axis: Axes) -> None:
    ends = [
        min(axis.get_xlim()[0], axis.get_ylim()[0]),
        max(axis.get_xlim()[1], axis.get_ylim()[1]),
    ]
    axis.plot(ends, ends, color="black", linewidth=0.8, linestyle=":", zorder=0)
