"""Figure 6.7: a regression with two weights, its posterior, SGD's walk, and the approximations."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.axes import ALGORITHM
from onlinefa_benchmark.experiments.base import Experiment
from onlinefa_benchmark.looks import look
from onlinefa_benchmark.plotting import style  # noqa: F401  (sets the style)
from onlinefa_benchmark.statistics.frames import entries, sorted_values

_INSIDE = 0.95


def figure_6_7(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw contours that hold 95 % of each distribution: a panel for each learning rate."""
    summary = summary[summary["mean"].notna()]
    rates = sorted(summary["walk"].unique(), key=float, reverse=True)
    figure, axes = plt.subplots(
        1,
        len(rates),
        squeeze=False,
        sharex=True,
        sharey=True,
        layout="constrained",
        figsize=(1 + 4.6 * len(rates), 5.4),
    )
    for rate, axis in zip(rates, axes[0], strict=True):
        _draw_panel(axis, summary[summary["walk"] == rate])
        title = f"{experiment.axis('walk').title} {rate}"
        axis.set(title=title, xlabel=r"$\theta_1$", aspect="equal")
    axes[0, 0].set_ylabel(r"$\theta_2$")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure


def _draw_panel(axis: Axes, rows: pd.DataFrame) -> None:
    algorithms = sorted_values(rows, ALGORITHM)
    any_one = rows[rows["algorithm"] == algorithms[0]]  # all have the same walk and posterior
    mean, covariance = entries(any_one, "true_mean"), entries(any_one, "true_covariance")
    walk, posterior = _collect_walk(any_one), _contour(mean, covariance)
    ellipses = {
        name: _contour(entries(own, "mean"), entries(own, "covariance"))
        for name in algorithms
        for own in [rows[rows["algorithm"] == name]]
        if own["metric"].eq("mean").any()
    }
    reach = 4.2 * np.sqrt(np.diag(covariance).max())
    _draw_curves(axis, walk, posterior, ellipses)
    _set_frame(axis, mean, reach)
    # A walk much smaller than the posterior is drawn a second time, enlarged.
    spread = 6 * walk.std(axis=0).max() if len(walk) else reach
    if 5 * spread < reach:
        inset = axis.inset_axes((0.63, 0.63, 0.36, 0.36), xticklabels=[], yticklabels=[])
        inset.set(aspect="equal")
        _draw_curves(inset, walk, posterior, ellipses)
        _set_frame(inset, mean, spread)
        axis.indicate_inset_zoom(inset, edgecolor="black")
    outside = [
        look(name).label
        for name, ellipse in ellipses.items()
        if (np.abs(ellipse - mean[:, None]) > reach).any()
    ]
    if outside:
        note = f"{', '.join(outside)}: beyond the frame"
        axis.text(0.03, 0.03, note, fontsize="small", transform=axis.transAxes)


def _draw_curves(axis: Axes, walk: Array, posterior: Array, ellipses: dict[str, Array]) -> None:
    axis.plot(
        *walk.T,
        color="#56B4E9",
        linewidth=0.4,
        marker=".",
        markersize=2,
        alpha=0.5,
        label="SGD's walk",
    )
    axis.plot(*posterior, color="black", linewidth=3, label="posterior")
    for name, ellipse in ellipses.items():
        drawn = look(name)
        axis.plot(
            *ellipse, color=drawn.colour, linestyle=drawn.line, linewidth=1.4, label=drawn.label
        )


def _collect_walk(rows: pd.DataFrame) -> Array:
    """Return the weights of the walk, a row for each step; none if it diverged."""
    theta = rows[rows["metric"] == "theta"].sort_values("step")
    return np.column_stack([theta.loc[theta["i"] == i, "mean"] for i in (0, 1)])


def _set_frame(axis: Axes, centre: Array, reach: float) -> None:
    axis.set_xlim(centre[0] - reach, centre[0] + reach)
    axis.set_ylim(centre[1] - reach, centre[1] + reach)


def _contour(mean: Array, covariance: Array) -> Array:
    """Return points of the ellipse that holds 95 % of a Gaussian."""
    radius = np.sqrt(-2 * np.log(1 - _INSIDE))
    angles = np.linspace(0, 2 * np.pi, 200)
    eigenvalues, V = np.linalg.eigh(covariance)
    circle = np.array([np.cos(angles), np.sin(angles)])
    return mean[:, None] + radius * (V * np.sqrt(np.clip(eigenvalues, 0, None))) @ circle
