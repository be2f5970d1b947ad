"""Error against the number of observations: a grid of panels with a line for each algorithm."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from onlinefa_benchmark.axes import ALGORITHM, Axis
from onlinefa_benchmark.looks import look
from onlinefa_benchmark.metrics.base import Metric
from onlinefa_benchmark.plotting import style  # noqa: F401  (sets the style)
from onlinefa_benchmark.statistics.frames import sorted_values
from onlinefa_benchmark.statistics.seeds import describe_seeds

_MARKERS = 10  # approximate number of markers and error bars of a line
_COLUMNS = 3  # of panels, if there is one row of them only
# Width of a legend's column: that of a marker with its line, and that of a character on average.
_MARKER_INCHES = 0.55
_CHARACTER_INCHES = 0.075


@dataclass(frozen=True)
class Layout:
    """Panels of a figure.

    Parameters
    ----------
    rows, columns : sequence of Axis
        Axes whose values make up the rows and the columns of panels.
    title : str
        Title of a panel, with the names of these axes in braces.
    x_label : str
        Label of the horizontal axis.
    x_scale : {"linear", "log"}
        Scale of the horizontal axis.
    place : str
        How a note names a place along the horizontal axis, with the value in braces.
    headroom : float, default=10
        A panel shows up to this many times the largest value of the median algorithm. Larger values
        would squeeze the others into a line; they are cut off, with a note in the panel.
    x : str, default="step"
        Column of the horizontal axis.
    note : str, default=""
        Text above the legend.
    lines : mapping of str to str
        Metrics that are drawn as horizontal lines, with their labels.
    numbers : mapping of str to str
        Metrics that are written at the foot of a panel, with their labels.
    """

    rows: Sequence[Axis]
    columns: Sequence[Axis]
    title: str
    x_label: str
    x_scale: str
    place: str
    headroom: float = 10
    x: str = "step"
    note: str = ""
    lines: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, str] = field(default_factory=dict)


def draw_convergence(
    summary: pd.DataFrame, metric: Metric, layout: Layout, setting: Sequence[str]
) -> Figure:
    """Draw means and standard errors over seeds, on a logarithmic scale.

    Parameters
    ----------
    summary : DataFrame
        Summary of an experiment.
    metric : Metric
        Metric of the vertical axis.
    layout : Layout
        Panels of the figure.
    setting : sequence of str
        Columns that make up a setting of the experiment.
    """
    rows, columns = _find_settings(summary, layout.rows), _find_settings(summary, layout.columns)
    settings = [row | column for row in rows for column in columns]
    # A single row of many panels would be too wide for a page.
    across = min(len(columns), _COLUMNS) if len(rows) == 1 else len(columns)
    down = math.ceil(len(settings) / across)
    figure, axes = plt.subplots(
        down,
        across,
        squeeze=False,
        sharex=True,
        layout="constrained",
        figsize=(1 + 3.6 * across, 1.2 + 2.5 * down),
    )
    formats = {axis.name: axis.format for axis in (*layout.rows, *layout.columns)}
    for axis, panel in zip(axes.flat, settings, strict=False):
        here = (summary[list(panel)] == pd.Series(panel)).all(axis="columns")
        draw_panel(axis, summary[here], metric, layout)
        axis.set_title(
            layout.title.format(**{name: formats[name](value) for name, value in panel.items()})
        )
    for axis in axes.flat[len(settings) :]:
        axis.remove()
    for axis in axes.flat[: len(settings)][-across:]:
        axis.set_xlabel(layout.x_label)
        axis.tick_params(labelbottom=True)
    for axis in axes[:, 0]:
        axis.set_ylabel(textwrap.fill(metric.label, 26))
    add_legend(figure, layout.note, describe_seeds(summary, setting))
    return figure


def add_legend(figure: Figure, *notes: str) -> None:
    """Add one legend for all panels, with notes above it.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    *notes : str
        Texts above the legend.
    """
    width = figure.get_figwidth()
    handles = {label: line for axis in figure.axes for line, label in _legend_entries(axis)}
    longest = max(map(len, handles), default=0)
    column_width = _MARKER_INCHES + _CHARACTER_INCHES * longest
    figure.legend(
        list(handles.values()),
        list(handles),
        title=textwrap.fill("; ".join(filter(None, notes)), int(11.5 * width)),
        loc="outside lower center",
        ncols=_even_columns(len(handles), most=max(1, int(width / column_width))),
    )


def _find_settings(rows: pd.DataFrame, axes: Sequence[Axis]) -> list[dict[str, Any]]:
    """Return the combinations of values that occur, sorted."""
    names = [axis.name for axis in axes]
    found = [
        dict(zip(names, values, strict=True))
        for values in rows[names].drop_duplicates().itertuples(index=False)
    ]
    return sorted(found, key=lambda panel: [axis.sort_key(panel[axis.name]) for axis in axes])


def draw_panel(axis: Axes, panel: pd.DataFrame, metric: Metric, layout: Layout) -> None:
    """Draw the mean of each algorithm with error bars, and a note of what is missing."""
    axis.set_xscale(layout.x_scale)
    axis.set_yscale("log")
    rows = panel[panel["metric"] == metric.name]
    values = rows[rows["mean"] > 0]
    # Algorithms share the steps, if there are several, but not the seconds that these take.
    place = "step" if values["step"].nunique() > 1 else layout.x
    limit = layout.headroom * values.groupby(place)["mean"].median().max()
    notes = []
    for algorithm in sorted_values(rows, ALGORITHM):
        label = look(algorithm).label
        drawn = values[values["algorithm"] == algorithm].sort_values(["step", layout.x])
        _draw_line(axis, algorithm, drawn, layout.x, limit)
        beyond = drawn[drawn["mean"] > limit]
        if not beyond.empty:
            notes.append(f"{label}: off the scale, up to {beyond['mean'].max():.2g}")
            _mark_cut(axis, algorithm, beyond[layout.x])
        last = rows[rows["algorithm"] == algorithm].sort_values(["step", layout.x])
        is_incomplete = (last["step"] == last["step"].max()) & (last["ok"] < last["seeds"])
        for _, row in last[is_incomplete].iterrows():
            when = layout.place.format(row[layout.x])
            notes.append(f"{label}: {row['statuses']} of {row['seeds']} at {when}")
    if notes:
        axis.text(
            0.5,
            0.93,
            "\n".join(notes),
            transform=axis.transAxes,
            ha="center",
            va="top",
            fontsize="x-small",
            bbox={"facecolor": "white", "alpha": 0.8, "edgecolor": "none"},
        )
    if not values.empty:
        visible = values[values["mean"] <= limit]
        lines = _draw_constants(axis, panel, layout)
        _set_limits(axis, visible, lines, len(notes))


def _draw_constants(axis: Axes, panel: pd.DataFrame, layout: Layout) -> list[float]:
    """Draw metrics that are the same for all algorithms up to rounding, and return their lines."""

    def height(metric: str) -> float:
        return float(panel.loc[panel["metric"] == metric, "mean"].mean())

    for metric, label in layout.lines.items():
        axis.axhline(height(metric), color="#333333", linestyle=":", linewidth=1, label=label)
    for metric, label in layout.numbers.items():
        axis.text(
            0.98,
            0.04,
            f"{label}: {height(metric):.2g}",
            transform=axis.transAxes,
            ha="right",
            fontsize="x-small",
        )
    return [height(metric) for metric in layout.lines]


def _set_limits(axis: Axes, visible: pd.DataFrame, lines: list[float], notes: int) -> None:
    """Set limits around what is drawn, with room for notes above, and readable ticks."""
    errors = visible["standard_error"].fillna(0)
    lower = min([*(visible["mean"] - errors).clip(lower=visible["mean"] / 2), *lines])
    upper = max([*(visible["mean"] + errors), *lines])
    ratio = max(upper / lower, 1.01)
    axis.set_ylim(lower / ratio**0.08, upper * ratio ** (0.08 + 0.1 * notes))
    is_narrow = ratio < 4  # a logarithmic scale has few round numbers there
    axis.yaxis.set_major_locator(MaxNLocator(5) if is_narrow else LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_formatter(NullFormatter())


def _draw_line(axis: Axes, algorithm: str, rows: pd.DataFrame, x: str, limit: float) -> None:
    drawn = look(algorithm)
    bars = rows["standard_error"].where(rows["mean"] <= limit)  # none for means above the panel
    every = max(1, math.ceil(len(rows) / _MARKERS))
    axis.errorbar(
        rows[x],
        rows["mean"],
        yerr=bars,
        label=drawn.label,
        markevery=every,
        errorevery=every,
        color=drawn.colour,
        marker=drawn.marker,
        linestyle=drawn.line,
        capsize=2,
        elinewidth=1,
    )


def _mark_cut(axis: Axes, algorithm: str, beyond: pd.Series) -> None:
    """Draw arrow heads at the upper edge where an algorithm is above it."""
    axis.plot(
        beyond,
        [0.985] * len(beyond),
        transform=axis.get_xaxis_transform(),
        color=look(algorithm).colour,
        marker=6,
        linestyle="none",
        clip_on=False,
    )


def _legend_entries(axis: Axes) -> list[tuple[Artist, str]]:
    return list(zip(*axis.get_legend_handles_labels(), strict=True))


def _even_columns(entries: int, most: int) -> int:
    """Return a number of columns for which a legend's lines are about equally long."""
    lines = max(1, math.ceil(entries / max(1, most)))
    return max(1, math.ceil(entries / lines))
