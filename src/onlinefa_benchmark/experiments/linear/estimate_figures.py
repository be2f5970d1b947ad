"""Figures 6.4, 6.5, 6.9 and 6.10: the estimated means and covariances of one dataset's weights.

Figures 6.4 and 6.5 compare algorithms that are fitted to one walk, Figures 6.9 and 6.10 compare
walks that one algorithm is fitted to.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace

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
from onlinefa_benchmark.experiments.linear.walk_figures import (
    WALK_LOOKS,
    choose_algorithm,
    describe_missing_walks,
)
from onlinefa_benchmark.looks import look
from onlinefa_benchmark.plotting import style  # noqa: F401  (sets the style)
from onlinefa_benchmark.statistics.frames import entries, sorted_values
from onlinefa_benchmark.statistics.seeds import describe_seeds

_TITLE_WIDTH = 22  # characters of a title that fit over a heat map


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


@dataclass(frozen=True, eq=False)
class _Estimate:
    """An estimate that a figure shows, and how it is drawn.

    Parameters
    ----------
    label, colour, marker : str
        How readers recognise it.
    rows : DataFrame
        Rows of the summary.
    """

    label: str
    colour: str
    marker: str
    rows: pd.DataFrame


def figure_6_4(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw the true covariance of one dataset and those of all algorithms as heat maps."""
    return _draw_heat_maps(experiment, *_select_algorithms(summary))


def figure_6_5(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw estimated against true means and variances: a point for each weight and algorithm."""
    return _draw_scatter(experiment, *_select_algorithms(summary))


def figure_6_9(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw the true covariance of one dataset and those of all walks as heat maps."""
    return _draw_heat_maps(experiment, *_select_walks(summary))


def figure_6_10(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw estimated against true means and variances: a point for each weight and walk."""
    return _draw_scatter(experiment, *_select_walks(summary))


def _select_algorithms(summary: pd.DataFrame) -> tuple[list[_Estimate], list[str]]:
    """Return the estimates of all algorithms from one walk, and notes."""
    rows = choose_walk(summary)
    rows = rows[rows["K"] == rows["K"].max()]
    estimates = []
    for algorithm in sorted_values(rows, ALGORITHM):
        drawn = look(algorithm)
        own = rows[rows["algorithm"] == algorithm]
        estimates.append(_Estimate(drawn.label, drawn.colour, drawn.marker, own))
    return estimates, [describe_walk(rows), *describe_missing_seeds(rows)]


def _select_walks(summary: pd.DataFrame) -> tuple[list[_Estimate], list[str]]:
    """Return the estimates of one algorithm from all walks, and notes."""
    rows = summary[summary["K"] == summary["K"].max()]
    algorithm = choose_algorithm(rows)
    rows = rows[rows["algorithm"] == algorithm]
    estimates = []
    for walk in sorted_values(rows, WALK):
        colour, marker, _ = WALK_LOOKS[walk]
        own = rows[rows["walk"] == walk]
        estimates.append(_Estimate(WALK.format(walk), colour, marker, own))
    return estimates, [f"walks described by {look(algorithm).label}", *describe_missing_walks(rows)]


def _draw_heat_maps(experiment: Experiment, estimates: list[_Estimate], notes: list[str]) -> Figure:
    """Draw covariances above, on one scale, and the same as correlations below."""
    rows = pd.concat([estimate.rows for estimate in estimates])
    covariances = _collect_covariances(estimates)
    columns = len(covariances)
    figure, axes = plt.subplots(
        2, columns, squeeze=False, layout="constrained", figsize=(1.2 + 1.9 * columns, 4.7)
    )
    largest = np.abs(covariances["posterior"]).max()
    for column, (label, covariance) in enumerate(covariances.items()):
        image = _draw_heat_map(axes[0, column], covariance, largest)
        axes[0, column].set_title(textwrap.fill(label, _TITLE_WIDTH))
        deviations = np.sqrt(np.diag(covariance))
        correlations = covariance / np.outer(deviations, deviations)
        correlation_image = _draw_heat_map(axes[1, column], correlations, 1)
    table = datasets.table(rows["dataset"].iloc[0])
    for axis in axes[:, 0]:
        axis.set_yticks(range(table.dimension), [*table.inputs, "bias"], fontsize="xx-small")
    figure.colorbar(image, ax=axes[0], label="covariance", pad=0.01)
    figure.colorbar(correlation_image, ax=axes[1], label="correlation", pad=0.01)
    facts = [*notes, describe_seeds(rows, experiment.setting_keys, "mean")]
    figure.suptitle(f"{table.title}, K = {rows['K'].iloc[0]}: {'; '.join(facts)}")
    return figure


def _collect_covariances(estimates: list[_Estimate]) -> dict[str, Array]:
    """Return covariances by label, the posterior first, without estimates that have no result."""
    found: dict[str, Array] = {}
    for estimate in estimates:
        rows = estimate.rows[estimate.rows["mean"].notna()]
        found.setdefault("posterior", entries(rows, "true_covariance"))
        if rows["metric"].eq("covariance").any():
            found[estimate.label] = entries(rows, "covariance")
    return found


def _draw_heat_map(axis: Axes, matrix: Array, limit: float) -> AxesImage:
    axis.grid(False)
    axis.set_xticks([])
    axis.set_yticks([])
    return axis.imshow(matrix, cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")


def _draw_scatter(experiment: Experiment, estimates: list[_Estimate], notes: list[str]) -> Figure:
    rows = pd.concat([estimate.rows for estimate in estimates])
    rows = rows[rows["mean"].notna()]
    figure, (means, variances) = plt.subplots(1, 2, layout="constrained", figsize=(9.5, 4.6))
    for estimate in estimates:
        own = replace(estimate, rows=estimate.rows[estimate.rows["mean"].notna()])
        if own.rows["metric"].eq("mean").any():
            _draw_points(means, own, "mean")
            _draw_points(variances, own, "covariance")
    means.set_xscale("symlog", linthresh=1)
    means.set_yscale("symlog", linthresh=1)
    variances.set_xscale("log")
    variances.set_yscale("log")
    for axis, quantity in ((means, "mean"), (variances, "variance")):
        _draw_diagonal(axis)
        axis.set(xlabel=f"posterior {quantity}", ylabel=f"estimated {quantity}")
    handles, labels = means.get_legend_handles_labels()
    facts = "; ".join([*notes, describe_seeds(rows, experiment.setting_keys)])
    figure.legend(handles, labels, title=facts, loc="outside lower center", ncols=4)
    title = datasets.table(rows["dataset"].iloc[0]).title
    figure.suptitle(f"{title}, K = {rows['K'].iloc[0]}: one point per weight")
    return figure


def _draw_points(axis: Axes, estimate: _Estimate, quantity: str) -> None:
    rows = estimate.rows
    true = entries(rows, f"true_{quantity}")
    estimated, errors = entries(rows, quantity), entries(rows, quantity, "standard_error")
    if quantity == "covariance":
        true, estimated, errors = (np.diag(matrix) for matrix in (true, estimated, errors))
    axis.errorbar(
        true,
        estimated,
        yerr=np.nan_to_num(errors),
        label=estimate.label,
        color=estimate.colour,
        marker=estimate.marker,
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
