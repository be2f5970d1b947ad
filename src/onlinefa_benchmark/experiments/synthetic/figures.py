"""Figures of chapter 5, and of the experiments with synthetic models beyond the thesis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from onlinefa_benchmark.axes import SPECTRUM, D, K, parse_spectrum
from onlinefa_benchmark.experiments.base import Experiment
from onlinefa_benchmark.looks import look
from onlinefa_benchmark.plotting.convergence import Layout, draw_convergence
from onlinefa_benchmark.statistics.seeds import describe_seeds

_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")


def _format_range(spectrum: str) -> str:
    return "{:,}, {:,}".format(*parse_spectrum(spectrum))


_LAYOUT = Layout(
    rows=[replace(SPECTRUM, format=_format_range)],
    columns=[D, K],
    title="D = {D}, K = {K}, $s^2$ ~ U({spectrum})",
    x_label="number of samples T",
    x_scale="log",
    place="T = {:,}",
)


def figure_5_1(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw the relative distance of estimated covariances from the true one, against T."""
    return _draw(experiment, summary, "relative_frobenius")


def figure_5_2(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw the 2-Wasserstein distance of estimated Gaussians from the true one, against T."""
    return _draw(experiment, summary, "wasserstein2")


def time(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw the distances of figure 5.1 against the time that fits take."""
    layout = replace(
        _LAYOUT,
        x="seconds",
        x_label="seconds of fitting",
        place="{:.3g} s",
        note="markers: the same sample sizes T",
    )
    return _draw(experiment, summary, "relative_frobenius", layout)


def eigenvalues(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw figure 5.1 for models whose range of s^2 is that of the eigenvalues of F F'."""
    layout = replace(_LAYOUT, title="D = {D}, K = {K}, eigenvalues ~ U({spectrum})")
    return _draw(experiment, summary, "relative_frobenius", layout)


def scale(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw the error against the units of the observations."""
    last = summary[summary["step"] == summary["step"].max()]
    layout = replace(
        _LAYOUT,
        x="scale",
        x_label="observations multiplied by",
        place="times {:g}",
        note=f"T = {last['step'].max():,}",
    )
    return _draw(experiment, last, "relative_frobenius", layout)


def change(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw the error against T when the true model is replaced by another."""
    note = "distance from the current model, which is replaced at the dotted line"
    layout = replace(_LAYOUT, x_scale="linear", note=note)
    figure = _draw(experiment, summary, "relative_frobenius", layout)
    changed = summary[summary["metric"] == "changed"]
    last_before = changed.loc[changed["mean"] == 0, "step"].max()
    for axis in figure.axes:
        axis.axvline(last_before, color="#333333", linestyle=":")
    return figure


def components(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw the number of factors that an algorithm finds, against T.

    There is a panel for each D and a line for each true K.
    """
    found = summary[summary["metric"] == "components"]
    # Algorithms that are given K are left out, unless there are no others.
    chosen = set(found.loc[found["mean"] != found["K"], "algorithm"]) or set(found["algorithm"])
    panels = [
        rows
        for (algorithm, *_), rows in found.groupby(["algorithm", "spectrum", "D"])
        if algorithm in chosen
    ]
    figure, axes = plt.subplots(
        1,
        max(len(panels), 1),
        squeeze=False,
        sharey=True,
        layout="constrained",
        figsize=(1 + 4 * max(len(panels), 1), 3.8),
    )
    for axis, rows in zip(axes.flat, panels, strict=False):
        _draw_numbers_of_factors(axis, rows)
    axes[0, 0].set_ylabel("number of factors")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=max(len(labels), 1),
        title=describe_seeds(summary, experiment.setting_keys) + "; dotted: the true number",
    )
    return figure


def _draw_numbers_of_factors(axis: Axes, rows: pd.DataFrame) -> None:
    for colour, true_K in zip(cycle(_COLOURS), _sorted(rows["K"]), strict=False):
        line = rows[rows["K"] == true_K]
        axis.axhline(true_K, color=colour, linestyle=":", linewidth=1)
        axis.errorbar(
            line["step"],
            line["mean"],
            yerr=line["standard_error"],
            color=colour,
            marker="o",
            capsize=2,
            elinewidth=1,
            label=f"K = {true_K}",
        )
    first = rows.iloc[0]
    algorithm, spectrum = look(first["algorithm"]).label, _format_range(first["spectrum"])
    axis.set_title(f"{algorithm}\nD = {first['D']}, $s^2$ ~ U({spectrum})")
    axis.set_xscale("log")
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_xlabel("number of samples T")


def _sorted(values: pd.Series) -> Sequence[int]:
    return sorted(values.unique())


def _draw(
    experiment: Experiment, summary: pd.DataFrame, metric: str, layout: Layout = _LAYOUT
) -> Figure:
    """Draw a metric with a row of panels for each spectrum, and a column for each D and K."""
    known = experiment.all_metrics()
    return draw_convergence(summary, known[metric], layout, experiment.setting_keys)
