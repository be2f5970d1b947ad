"""Error against the number of samples: a row of panels per spectrum, a column per D."""

from __future__ import annotations

import math
import textwrap

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from onlinefa.figures import style  # noqa: F401  (sets the style)
from onlinefa.presentation import METRICS, bounds, in_order, look, over_seeds

# A panel shows up to this many times the largest value of the median algorithm. What lies beyond
# would squeeze the others into a line; it is cut off, and the panel says so.
_HEADROOM = 10


def draw_convergence(summary: pd.DataFrame, metric: str) -> Figure:
    """Mean and standard error over seeds against T, on logarithmic axes."""
    rows = summary[summary["metric"] == metric]
    columns = sorted(set(zip(rows["D"], rows["K"], strict=True)))
    spectra = sorted(rows["spectrum"].unique(), key=bounds)
    width, height = 1 + 3.6 * len(columns), 1.2 + 2.5 * len(spectra)
    figure, axes = plt.subplots(
        len(spectra), len(columns), squeeze=False, sharex=True, layout="constrained",
        figsize=(width, height),
    )  # fmt: skip
    for row, spectrum in enumerate(spectra):
        for column, (D, K) in enumerate(columns):
            here = (rows["D"] == D) & (rows["K"] == K) & (rows["spectrum"] == spectrum)
            draw_panel(axes[row, column], rows[here])
            low, high = bounds(spectrum)
            axes[row, column].set_title(f"D = {D}, K = {K}, $s^2$ ~ U({low:,}, {high:,})")
    for axis in axes[-1]:
        axis.set_xlabel("number of samples T")
    for axis in axes[:, 0]:
        axis.set_ylabel(textwrap.fill(METRICS[metric].label, 26))
    handles = {label: line for axis in axes.flat for line, label in _legend(axis)}
    figure.legend(
        list(handles.values()), list(handles),
        title=over_seeds(int(rows["seeds"].max())),
        loc="outside lower center", ncols=_even_columns(len(handles), most=int(width / 1.6)),
    )  # fmt: skip
    return figure


def draw_panel(axis: Axes, rows: pd.DataFrame) -> None:
    """Every algorithm's mean, with standard error bars, and a note of what is missing."""
    axis.set_xscale("log")
    axis.set_yscale("log")
    values = rows[rows["mean"] > 0]
    limit = _HEADROOM * values.groupby("step")["mean"].median().max()
    notes = []
    for algorithm in in_order(list(rows["algorithm"].unique())):
        label = look(algorithm).label
        drawn = values[values["algorithm"] == algorithm].sort_values("step")
        _draw_line(axis, algorithm, drawn, limit)
        beyond = drawn[drawn["mean"] > limit]
        if not beyond.empty:
            notes.append(f"{label}: off the scale, up to {beyond['mean'].max():.2g}")
            _mark_cut(axis, algorithm, beyond)
        last = rows[rows["algorithm"] == algorithm].sort_values("step").iloc[-1]
        if last["ok"] < last["seeds"]:
            notes.append(f"{label}: {last['statuses']} of {last['seeds']} at T = {last['step']:,}")
    if notes:
        axis.text(
            0.5, 0.93, "\n".join(notes), transform=axis.transAxes, ha="center", va="top",
            fontsize="x-small", bbox={"facecolor": "white", "alpha": 0.8, "edgecolor": "none"},
        )  # fmt: skip
    if not values.empty:
        _set_limits(axis, values[values["mean"] <= limit], room_for_notes=bool(notes))


def _set_limits(axis: Axes, visible: pd.DataFrame, room_for_notes: bool) -> None:
    errors = visible["standard_error"].fillna(0)
    lower = (visible["mean"] - errors).clip(lower=visible["mean"] / 2)
    upper = visible["mean"] + errors
    axis.set_ylim(lower.min() / 1.2, upper.max() * (1.8 if room_for_notes else 1.25))
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_formatter(NullFormatter())


def _draw_line(axis: Axes, algorithm: str, rows: pd.DataFrame, limit: float) -> None:
    drawn = look(algorithm)
    bars = rows["standard_error"].where(rows["mean"] <= limit)  # none hang from above the panel
    axis.errorbar(
        rows["step"], rows["mean"], yerr=bars, label=drawn.label,
        color=drawn.colour, marker=drawn.marker, linestyle=drawn.line, capsize=2, elinewidth=1,
    )  # fmt: skip


def _mark_cut(axis: Axes, algorithm: str, beyond: pd.DataFrame) -> None:
    """Arrow heads at the upper edge where an algorithm is above it."""
    axis.plot(
        beyond["step"], [0.985] * len(beyond), transform=axis.get_xaxis_transform(),
        color=look(algorithm).colour, marker=6, linestyle="none", clip_on=False,
    )  # fmt: skip


def _legend(axis: Axes) -> list[tuple[Artist, str]]:
    return list(zip(*axis.get_legend_handles_labels(), strict=True))


def _even_columns(entries: int, most: int) -> int:
    """So many columns that a legend's lines are about equally long."""
    lines = math.ceil(entries / max(1, most))
    return math.ceil(entries / lines)
