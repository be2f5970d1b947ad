"""Figure 6.6: where the distance from the posterior comes from, for each dataset and algorithm."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onlinefa.figures import style  # noqa: F401  (sets the style)
from onlinefa.figures.chapter6 import missing_seeds
from onlinefa.presentation import in_order, look, over_seeds, position, spelled

# In the order of the way from the posterior to the estimate.
_STEPS = {
    "loss_of_sgd": ("SGD is not the posterior", "#C8C8C8"),
    "loss_of_finite_walk": ("the walk is finite", "#56B4E9"),
    "loss_of_rank": ("rank K", "#0072B2"),
    "loss_of_algorithm": ("the algorithm", "#D55E00"),
}


def draw(summary: pd.DataFrame) -> Figure:
    """A row of panels per dataset, a column per walk, a stacked bar per algorithm."""
    rows = summary[summary["K"] == summary["K"].max()]
    datasets = sorted(rows["dataset"].unique())
    walks = sorted(rows["walk"].unique(), key=lambda walk: position("walk", walk))
    figure, axes = plt.subplots(
        len(datasets), len(walks), squeeze=False, sharex=True, sharey="row", layout="constrained",
        figsize=(1.2 + 2.7 * max(2, len(walks)), 1.6 + 2.1 * len(datasets)),
    )  # fmt: skip
    algorithms = in_order(list(rows["algorithm"].unique()))
    for dataset, line in zip(datasets, axes, strict=True):
        for walk, axis in zip(walks, line, strict=True):
            here = rows[(rows["dataset"] == dataset) & (rows["walk"] == walk)]
            _draw_bars(axis, here, algorithms)
        line[0].set_ylabel(f"{dataset}\n2-Wasserstein distance")
    for walk, axis in zip(walks, axes[0], strict=True):
        axis.set_title(spelled("walk", walk))
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=min(3, len(walks)),
        title=f"K = {rows['K'].iloc[0]}; {over_seeds(rows)}",
    )  # fmt: skip
    return figure


def _draw_bars(axis: Axes, rows: pd.DataFrame, algorithms: list[str]) -> None:
    last = rows[rows["step"] == rows["step"].max()]
    table = last.pivot(index="algorithm", columns="metric", values="mean").reindex(algorithms)
    x, height = np.arange(len(algorithms)), np.zeros(len(algorithms))
    for metric, (label, colour) in _STEPS.items():
        part = table[metric].fillna(0).to_numpy()
        axis.bar(x, part, bottom=height, color=colour, label=label, width=0.75, linewidth=0)
        height += part
    errors = last[last["metric"] == "wasserstein2"].set_index("algorithm")["standard_error"]
    axis.errorbar(
        x, table["wasserstein2"], yerr=errors.reindex(algorithms).fillna(0), color="black",
        marker="_", markersize=13, markeredgewidth=2, linestyle="none", capsize=2,
        label="distance of the estimate from the posterior",
    )  # fmt: skip
    axis.axhline(
        table["floor_of_rank"].mean(), color="black", linestyle=":", linewidth=1,
        label="best factor analysis of the posterior",
    )  # fmt: skip
    notes = missing_seeds(rows)
    if table["loss_of_sgd"].isna().all():
        notes.append("SGD does not settle: its step is missing")
    axis.text(0.5, 0.97, "\n".join(notes), transform=axis.transAxes, ha="center", va="top",
              fontsize="x-small")  # fmt: skip
    axis.grid(axis="x", visible=False)
    axis.set_xticks(x, [look(name).label for name in algorithms], rotation=60, ha="right")
