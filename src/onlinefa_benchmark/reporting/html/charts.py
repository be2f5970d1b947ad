"""Data for the charts and tables of the page: a summary in compact form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from onlinefa_benchmark.analysis.best import mark_best
from onlinefa_benchmark.axes import Axis
from onlinefa_benchmark.experiments.base import Experiment, Metric
from onlinefa_benchmark.looks import look, sort_algorithms
from onlinefa_benchmark.statistics.frames import sort_rows

_MOST_STEPS = 40  # of a line; a screen shows no more
_HEADROOM = 10
"""Values above this many times the largest value of the median algorithm would squeeze all others
into a line; a chart shows them only on request."""
_DIGITS = 6

_NUMBERS = {
    "mean": "mean",
    "error": "standard_error",
    "behind": "behind",
    "behindError": "behind_error",
    "ok": "ok",
    "seeds": "seeds",
    "step": "step",
}
"""Columns of the summary, by their names on the page."""


def make_chart(
    experiment: Experiment, summary: pd.DataFrame, metrics: Mapping[str, Metric]
) -> dict[str, Any]:
    """Return the means of an experiment, and how to draw them."""
    has_value = set(summary.loc[summary["ok"] > 0, "metric"])
    shown = [metric for metric in metrics.values() if metric.name in has_value]
    rows = summary[summary["metric"].isin([metric.name for metric in shown]) & summary["i"].isna()]
    keys = experiment.setting_keys
    rows = mark_best(rows, keys)
    # The paired difference of an algorithm with fewer seeds is not over the same seeds.
    rows["behind"] = rows["behind"].where(rows["seeds"] == rows["all_seeds"])
    axes = [experiment.axis(key) for key in (*keys, "algorithm", "step")]
    rows = sort_rows(_thin(rows), axes)
    x = _choose_horizontal(experiment, rows)
    return {
        "settings": keys,
        "titles": {key: experiment.axis(key).title for key in keys},
        "panels": [key for key in keys if key != x],
        "x": x,
        "xLabel": experiment.step_unit if x == "step" else experiment.axis(x).title if x else None,
        "metrics": [
            {"name": metric.name, "label": metric.label, "direction": metric.direction}
            for metric in shown
        ],
        "rows": _encode_columns(rows, [experiment.axis(key) for key in keys]),
    }


def _choose_horizontal(experiment: Experiment, rows: pd.DataFrame) -> str | None:
    """Return what changes along a line: steps, or a numeric axis; None if there are only points."""
    if rows["step"].nunique() > 1:
        return "step"
    axis = experiment.axis(experiment.column_axis)
    is_axis_of_settings = axis.name in experiment.setting_keys and axis.kind is not str
    is_line = is_axis_of_settings and rows[axis.name].nunique() > 1
    return axis.name if is_line else None


def _thin(rows: pd.DataFrame) -> pd.DataFrame:
    """Keep a limited number of steps, about evenly spaced, with the first and the last."""
    steps = np.sort(rows["step"].unique())
    chosen = np.linspace(0, len(steps) - 1, min(len(steps), _MOST_STEPS)).round().astype(int)
    return rows[rows["step"].isin(steps[chosen])]


def _encode_columns(rows: pd.DataFrame, axes: list[Axis]) -> dict[str, Any]:
    """Return columns; those of names, which repeat, as positions in a list of levels."""
    names = {axis.name: _encode_axis(axis, rows[axis.name]) for axis in axes}
    for column in ("algorithm", "metric", "statuses"):
        names[column] = _encode(sorted(rows[column].unique()), rows[column])
    numbers = {name: _round(rows[column]) for name, column in _NUMBERS.items()}
    is_off = _find_off_scale(rows, [axis.name for axis in axes])
    marks = {"off": is_off, "best": rows["is_best"]}
    return names | numbers | {name: mark.astype(int).tolist() for name, mark in marks.items()}


def _encode_axis(axis: Axis, values: pd.Series) -> dict[str, Any]:
    """Encode the values of an axis: levels as readers see them, and numbers if it is numeric."""
    found = [value for value in values.unique() if not pd.isna(value)]
    levels = sorted(found, key=axis.sort_key)
    encoded = _encode(levels, values) | {"levels": [axis.format(level) for level in levels]}
    return encoded if axis.kind is str else encoded | {"numbers": list(map(float, levels))}


def _encode(levels: list[Any], values: pd.Series) -> dict[str, Any]:
    """Return levels, and the position of each value among them; -1 for none."""
    places = {value: place for place, value in enumerate(levels)}
    return {"levels": levels, "codes": [places.get(value, -1) for value in values.tolist()]}


def _round(values: pd.Series) -> list[float | None]:
    return [_round_one(float(value)) for value in values.astype(float)]


def _round_one(value: float) -> float | None:
    if not np.isfinite(value):
        return None
    is_short = value.is_integer() and abs(value) < 1e15
    return int(value) if is_short else float(f"{value:.{_DIGITS}g}")


def _find_off_scale(rows: pd.DataFrame, keys: list[str]) -> pd.Series:
    """Return which values are off the scale; metrics with negative values have none."""
    panel = [rows[key] for key in [*keys, "metric"]]
    medians = rows["mean"].groupby([*panel, rows["step"]], dropna=False).transform("median")
    largest = medians.groupby(panel, dropna=False).transform("max")
    never_negative = ~(rows["mean"] < 0).groupby(rows["metric"]).transform("any")
    return never_negative & (largest > 0) & (rows["mean"] > _HEADROOM * largest)


def describe_looks(algorithms: list[str]) -> list[dict[str, str]]:
    """Return the label, colour, marker and line of each algorithm, the same as in all figures."""
    return [
        {
            "name": name,
            "label": look(name).label,
            "colour": look(name).colour,
            "shape": _marker_path(look(name).marker),
            "line": look(name).line,
        }
        for name in sort_algorithms(algorithms)
    ]


def _marker_path(marker: str) -> str:
    """Return a marker of matplotlib as an SVG path between -1 and 1."""
    from matplotlib.markers import MarkerStyle
    from matplotlib.path import Path

    style = MarkerStyle(marker)
    path = style.get_path().transformed(style.get_transform())
    scale = 0.8 / np.abs(path.vertices).max()
    letters = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C"}
    parts = []
    for points, code in path.iter_segments(simplify=False):
        if code == Path.CLOSEPOLY:
            parts.append("Z")
            continue
        pairs = (points * scale).reshape(-1, 2)
        parts.append(letters[code] + " ".join(f"{a:.3g},{-b:.3g}" for a, b in pairs))
    return "".join(parts)
