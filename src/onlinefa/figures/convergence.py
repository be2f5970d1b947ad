"""Error against the number of observations: a grid of panels, a line per algorithm."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, field
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from onlinefa.figures import style  # noqa: F401  (sets the style)
from onlinefa.presentation import METRICS, in_order, look, over_seeds, position

_MARKERS = 10  # a line has about so many markers and error bars
_ACROSS = 3


@dataclass(frozen=True)
class Layout:
    """What the panels of a figure are."""

    rows: list[str]
    """Columns of the summary whose values make a row of panels, and a column of panels."""
    columns: list[str]
    title: str
    """With the panel's settings in braces."""
    x_label: str
    x_scale: str
    place: str
    """How a note names a place along the horizontal axis, in braces."""
    headroom: float = 10
    """A panel shows up to this many times the largest value of the median algorithm. What lies
    beyond would squeeze the others into a line; it is cut off, and the panel says so."""
    x: str = "step"
    """The column that a panel has along its horizontal axis."""
    note: str = ""
    """What is to be said above the legend."""
    lines: dict[str, str] = field(default_factory=dict)
    """Metrics that are drawn as horizontal lines, with their labels."""
    numbers: dict[str, str] = field(default_factory=dict)
    """Metrics that are written down at the foot of a panel."""


def draw_convergence(summary: pd.DataFrame, metric: str, layout: Layout) -> Figure:
    """Mean and standard error over seeds against the steps, on a logarithmic scale."""
    rows, across = _settings(summary, layout.rows), _settings(summary, layout.columns)
    settings = [r | c for r in rows for c in across]
    # A single row of many panels would be too wide for a page.
    columns = min(len(across), _ACROSS) if len(rows) == 1 else len(across)
    lines = math.ceil(len(settings) / columns)
    figure, axes = plt.subplots(
        lines, columns, squeeze=False, sharex=True, layout="constrained",
        figsize=(1 + 3.6 * columns, 1.2 + 2.5 * lines),
    )  # fmt: skip
    for axis, setting in zip(axes.flat, settings, strict=False):
        here = (summary[list(setting)] == pd.Series(setting)).all(axis="columns")
        draw_panel(axis, summary[here], metric, layout)
        axis.set_title(layout.title.format(**setting))
    for axis in axes.flat[len(settings) :]:
        axis.remove()
    for axis in axes.flat[: len(settings)][-columns:]:
        axis.set_xlabel(layout.x_label)
        axis.tick_params(labelbottom=True)
    for axis in axes[:, 0]:
        axis.set_ylabel(textwrap.fill(METRICS[metric].label, 26))
    add_legend(figure, layout.note, over_seeds(summary))
    return figure


def add_legend(figure: Figure, *notes: str) -> None:
    """One for all panels, with what is to be said above it."""
    width = figure.get_figwidth()
    handles = {label: line for axis in figure.axes for line, label in _legend(axis)}
    figure.legend(
        list(handles.values()), list(handles),
        title=textwrap.fill("; ".join(filter(None, notes)), int(11.5 * width)),
        loc="outside lower center", ncols=_even_columns(len(handles), most=int(width / 2)),
    )  # fmt: skip


def _settings(rows: pd.DataFrame, keys: list[str]) -> list[dict[str, Any]]:
    """The combinations of values that there are, in order."""
    found = [
        dict(zip(keys, values, strict=True))
        for values in rows[keys].drop_duplicates().itertuples(index=False)
    ]
    return sorted(found, key=lambda setting: [position(key, setting[key]) for key in keys])


def draw_panel(axis: Axes, panel: pd.DataFrame, metric: str, layout: Layout) -> None:
    """Every algorithm's mean, with standard error bars, and a note of what is missing."""
    axis.set_xscale(layout.x_scale)
    axis.set_yscale("log")
    rows = panel[panel["metric"] == metric]
    values = rows[rows["mean"] > 0]
    # Algorithms share the steps, if there are several, but not the seconds that these take.
    place = "step" if values["step"].nunique() > 1 else layout.x
    limit = layout.headroom * values.groupby(place)["mean"].median().max()
    notes = []
    for algorithm in in_order(list(rows["algorithm"].unique())):
        label = look(algorithm).label
        drawn = values[values["algorithm"] == algorithm].sort_values(["step", layout.x])
        _draw_line(axis, algorithm, drawn, layout.x, limit)
        beyond = drawn[drawn["mean"] > limit]
        if not beyond.empty:
            notes.append(f"{label}: off the scale, up to {beyond['mean'].max():.2g}")
            _mark_cut(axis, algorithm, beyond[layout.x])
        last = rows[rows["algorithm"] == algorithm].sort_values(["step", layout.x])
        for _, row in last[
            (last["step"] == last["step"].max()) & (last["ok"] < last["seeds"])
        ].iterrows():
            when = layout.place.format(row[layout.x])
            notes.append(f"{label}: {row['statuses']} of {row['seeds']} at {when}")
    if notes:
        axis.text(
            0.5, 0.93, "\n".join(notes), transform=axis.transAxes, ha="center", va="top",
            fontsize="x-small", bbox={"facecolor": "white", "alpha": 0.8, "edgecolor": "none"},
        )  # fmt: skip
    if not values.empty:
        visible = values[values["mean"] <= limit]
        lines = _draw_references(axis, panel, layout)
        _set_limits(axis, visible, lines, len(notes))


def _draw_references(axis: Axes, panel: pd.DataFrame, layout: Layout) -> list[float]:
    """What is the same for all algorithms, but for rounding: lines, and numbers below them."""

    def height(metric: str) -> float:
        return float(panel.loc[panel["metric"] == metric, "mean"].mean())

    for metric, label in layout.lines.items():
        axis.axhline(height(metric), color="#333333", linestyle=":", linewidth=1, label=label)
    for metric, label in layout.numbers.items():
        axis.text(
            0.98, 0.04, f"{label}: {height(metric):.2g}", transform=axis.transAxes, ha="right",
            fontsize="x-small",
        )  # fmt: skip
    return [height(metric) for metric in layout.lines]


def _set_limits(axis: Axes, visible: pd.DataFrame, lines: list[float], notes: int) -> None:
    """Limits around what is drawn, with room above for notes, and ticks that can be read."""
    errors = visible["standard_error"].fillna(0)
    lower = min([*(visible["mean"] - errors).clip(lower=visible["mean"] / 2), *lines])
    upper = max([*(visible["mean"] + errors), *lines])
    ratio = max(upper / lower, 1.01)
    axis.set_ylim(lower / ratio**0.08, upper * ratio ** (0.08 + 0.1 * notes))
    narrow = ratio < 4  # a logarithmic scale has few round numbers there
    axis.yaxis.set_major_locator(MaxNLocator(5) if narrow else LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_formatter(NullFormatter())


def _draw_line(axis: Axes, algorithm: str, rows: pd.DataFrame, x: str, limit: float) -> None:
    drawn = look(algorithm)
    bars = rows["standard_error"].where(rows["mean"] <= limit)  # none hang from above the panel
    sparse = max(1, math.ceil(len(rows) / _MARKERS))
    axis.errorbar(
        rows[x], rows["mean"], yerr=bars, label=drawn.label, markevery=sparse,
        errorevery=sparse, color=drawn.colour, marker=drawn.marker, linestyle=drawn.line,
        capsize=2, elinewidth=1,
    )  # fmt: skip


def _mark_cut(axis: Axes, algorithm: str, beyond: pd.Series) -> None:
    """Arrow heads at the upper edge where an algorithm is above it."""
    axis.plot(
        beyond, [0.985] * len(beyond), transform=axis.get_xaxis_transform(),
        color=look(algorithm).colour, marker=6, linestyle="none", clip_on=False,
    )  # fmt: skip


def _legend(axis: Axes) -> list[tuple[Artist, str]]:
    return list(zip(*axis.get_legend_handles_labels(), strict=True))


def _even_columns(entries: int, most: int) -> int:
    """So many columns that a legend's lines are about equally long."""
    lines = math.ceil(entries / max(1, most))
    return math.ceil(entries / lines)
