"""Figures 6.4 and 6.5: the estimated means and covariances of one dataset's weights."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from onlinefa_benchmark import datasets
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.axes import ALGORITHM, WALK
from onlinefa_benchmark.experiments.base import Experiment
from onlinefa_benchmark.looks import look
from onlinefa_benchmark.plotting import style  # noqa: F401  (sets the style)
from onlinefa_benchmark.statistics.frames import entries, sorted_values
from onlinefa_benchmark.statistics.seeds import describe_seeds


def choose_walk(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one walk: that of the thesis or, without it, the next in order."""
    return summary[summary["walk"] == sorted_values(summary, WALK)[0]]


def describe_walk(rows: pd.DataFrame) -> str:
    """Describe the walk of some rows, for a figure."""
    return f"walk: {WALK.format(rows['walk'].iloc[0])}"


def describe_missing_seeds(rows: pd.DataFrame) -> list[str]:
    """Return notes of seeds without a result at the end, such as ``SWAG: 2 diverged of 3``."""
    last = rows[(rows["metric"] == "wasserstein2") & (rows["step"] == rows["step"].max())]
    return [
        f"{look(row['algorithm']).label}: {row['statuses']} of {row['seeds']}"
        for _, row in last[last["ok"] < last["seeds"]].iterrows()
    ]


def figure_6_4(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw the true and estimated covariances of one dataset as heat maps.

    The upper row shows covariances, on one scale; the lower row shows the same as correlations.
    """
    rows = choose_walk(summary)
    rows = rows[rows["K"] == rows["K"].max()]
    covariances = _collect_covariances(rows)
    columns = len(covariances)
    figure, axes = plt.subplots(
        2, columns, squeeze=False, layout="constrained", figsize=(1.2 + 1.9 * columns, 4.7)
    )
    largest = np.abs(covariances["posterior"]).max()
    for column, (label, covariance) in enumerate(covariances.items()):
        image = _draw_heat_map(axes[0, column], covariance, largest)
        axes[0, column].set_title(label)
        deviations = np.sqrt(np.diag(covariance))
        correlations = covariance / np.outer(deviations, deviations)
        correlation_image = _draw_heat_map(axes[1, column], correlations, 1)
    table = datasets.table(rows["dataset"].iloc[0])
    for axis in axes[:, 0]:
        axis.set_yticks(range(table.dimension), [*table.inputs, "bias"], fontsize="xx-small")
    figure.colorbar(image, ax=axes[0], label="covariance", pad=0.01)
    figure.colorbar(correlation_image, ax=axes[1], label="correlation", pad=0.01)
    seeds = describe_seeds(rows, experiment.setting_keys, "mean")
    facts = [describe_walk(rows), seeds, *describe_missing_seeds(rows)]
    figure.suptitle(f"{table.title}, K = {rows['K'].iloc[0]}: {'; '.join(facts)}")
    return figure


def _collect_covariances(rows: pd.DataFrame) -> dict[str, Array]:
    """Return covariances by label, the posterior first, without algorithms that have no result."""
    rows = rows[rows["mean"].notna()]
    found = {"posterior": entries(rows, "true_covariance")}
    for algorithm in sorted_values(rows, ALGORITHM):
        own = rows[rows["algorithm"] == algorithm]
        if own["metric"].eq("covariance").any():
            found[look(algorithm).label] = entries(own, "covariance")
    return found


def _draw_heat_map(axis: Axes, matrix: Array, limit: float) -> AxesImage:
    axis.grid(False)
    axis.set_xticks([])
    axis.set_yticks([])
    return axis.imshow(matrix, cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")


def figure_6_5(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw estimated against true means and variances: a point for each weight and algorithm."""
    rows = choose_walk(summary)
    rows = rows[rows["K"] == rows["K"].max()]
    notes, rows = describe_missing_seeds(rows), rows[rows["mean"].notna()]
    figure, (means, variances) = plt.subplots(1, 2, layout="constrained", figsize=(9.5, 4.6))
    for algorithm in sorted_values(rows, ALGORITHM):
        own = rows[rows["algorithm"] == algorithm]
        if own["metric"].eq("mean").any():
            _draw_points(means, algorithm, own, "mean")
            _draw_points(variances, algorithm, own, "covariance")
    means.set_xscale("symlog", linthresh=1)
    means.set_yscale("symlog", linthresh=1)
    variances.set_xscale("log")
    variances.set_yscale("log")
    for axis, quantity in ((means, "mean"), (variances, "variance")):
        _draw_diagonal(axis)
        axis.set(xlabel=f"posterior {quantity}", ylabel=f"estimated {quantity}")
    handles, labels = means.get_legend_handles_labels()
    seeds = describe_seeds(rows, experiment.setting_keys)
    facts = "; ".join([describe_walk(rows), seeds, *notes])
    figure.legend(handles, labels, title=facts, loc="outside lower center", ncols=4)
    title = datasets.table(rows["dataset"].iloc[0]).title
    figure.suptitle(f"{title}, K = {rows['K'].iloc[0]}: one point per weight")
    return figure


def _draw_points(axis: Axes, algorithm: str, rows: pd.DataFrame, quantity: str) -> None:
    drawn = look(algorithm)
    true = entries(rows, f"true_{quantity}")
    estimated, errors = entries(rows, quantity), entries(rows, quantity, "standard_error")
    if quantity == "covariance":
        true, estimated, errors = (np.diag(matrix) for matrix in (true, estimated, errors))
    axis.errorbar(
        true,
        estimated,
        yerr=np.nan_to_num(errors),
        label=drawn.label,
        color=drawn.colour,
        marker=drawn.marker,
        linestyle="none",
        capsize=2,
        elinewidth=1,
        alpha=0.8,
    )


def _draw_diagonal(axis: Axes) -> None:
    ends = [
        min(axis.get_xlim()[0], axis.get_ylim()[0]),
        max(axis.get_xlim()[1], axis.get_ylim()[1]),
    ]
    axis.plot(ends, ends, color="black", linewidth=0.8, linestyle=":", zorder=0)
