"""What the page's figures and tables are drawn from: a summary, made small, and what it means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from onlinefa.presentation import (
    METRICS,
    called,
    in_order,
    in_reading_order,
    look,
    position,
    settings_of,
    spelled,
)
from onlinefa.tables import METRICS as METRICS_OF
from onlinefa.tables.final import is_best

_MOST_STEPS = 40  # of a line; a screen shows no more
_HEADROOM = 10
"""What is above so many times the largest value of the median algorithm would squeeze all others
into a line, and is left out of a figure unless somebody asks for it."""
_DIGITS = 6

# What can be chosen from, in the order of the page.
FILTERS = ("dataset", "D", "K", "spectrum", "scale", "walk", "width")


def chart(summary: pd.DataFrame, experiment: str) -> dict[str, Any]:
    """An experiment's means, and how to draw them."""
    has_value = summary.loc[summary["ok"] > 0, "metric"].unique()
    metrics = [metric for metric in METRICS_OF[experiment] if metric in has_value]
    rows = summary[summary["metric"].isin(metrics)]
    keys = settings_of(rows)
    x = _horizontal(rows)
    # With fewer seeds than others, who is behind by how much would be another question.
    all_seeds = rows.groupby([*keys, "step", "metric"], dropna=False)["seeds"].transform("max")
    is_comparable = rows["seeds"] == all_seeds
    rows = rows.assign(best=is_best(rows), behind=rows["behind"].where(is_comparable))
    rows = in_reading_order(_thinned(rows), [*keys, "algorithm", "step"])
    panels = [key for key in keys if key != x]
    return {
        "settings": keys,
        "called": {key: called(experiment, key) for key in keys},
        "panels": panels,
        "x": x,
        "xLabel": {"step": "epochs" if "walk" in keys else "observations", "width": "hidden units"}
        .get(x or ""),
        "metrics": [
            {"name": metric, "label": METRICS[metric].label, "better": METRICS[metric].better}
            for metric in metrics
        ],
        "rows": _columns(rows, [*keys, "algorithm"]),
    }  # fmt: skip


def _horizontal(rows: pd.DataFrame) -> str | None:
    """What changes along a line; None if all there is are points."""
    return next((key for key in ("step", "width") if rows[key].nunique() > 1), None)


def _thinned(rows: pd.DataFrame) -> pd.DataFrame:
    """At most so many steps, about evenly in what is there, the first and the last among them."""
    steps = np.sort(rows["step"].unique())
    chosen = np.linspace(0, len(steps) - 1, min(len(steps), _MOST_STEPS)).round().astype(int)
    return rows[rows["step"].isin(steps[chosen])]


def _columns(rows: pd.DataFrame, keys: list[str]) -> dict[str, Any]:
    """Column by column; names, which repeat, by their place in a list of them."""
    named = {key: _coded(key, rows[key]) for key in [*keys, "metric", "statuses"]}
    numbers = {
        name: _rounded(rows[column])
        for name, column in {
            "mean": "mean", "error": "standard_error", "behind": "behind",
            "behindError": "behind_error", "ok": "ok", "seeds": "seeds", "step": "step",
        }.items()
    }  # fmt: skip
    marks = {"off": _off_the_scale(rows), "best": rows["best"]}
    return named | numbers | {name: mark.astype(int).tolist() for name, mark in marks.items()}


def _coded(key: str, values: pd.Series) -> dict[str, Any]:
    """Levels as readers see them, in their order, and the level of each value; -1 for none."""
    found = [value for value in values.unique() if not pd.isna(value)]
    levels = sorted(found, key=lambda value: position(key, value))
    places = {value: place for place, value in enumerate(levels)}
    raw = key in ("algorithm", "metric", "statuses")
    return {
        "levels": [value if raw else spelled(key, _plain(value)) for value in levels],
        "codes": [places.get(value, -1) for value in values.tolist()],
    }


def _plain(value: Any) -> Any:
    """Columns with gaps have numbers with a fraction."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _rounded(values: pd.Series) -> list[float | None]:
    return [
        None if not np.isfinite(value) else int(value) if float(value).is_integer()
        and abs(value) < 1e15 else float(f"{value:.{_DIGITS}g}")
        for value in values.astype(float)
    ]  # fmt: skip


def _off_the_scale(rows: pd.DataFrame) -> pd.Series:
    """Of metrics that are never negative, what would squeeze the others."""
    keys = [*settings_of(rows), "metric"]
    median = rows["mean"].groupby([rows[key] for key in [*keys, "step"]], dropna=False)
    largest = median.transform("median").groupby([rows[key] for key in keys], dropna=False)
    never_negative = ~(rows["mean"] < 0).groupby(rows["metric"]).transform("any")
    most = largest.transform("max")
    return never_negative & (most > 0) & (rows["mean"] > _HEADROOM * most)


def looks(algorithms: list[str]) -> list[dict[str, str]]:
    """How each algorithm is called and drawn, the same as in all other figures."""
    return [
        {"name": name, "label": look(name).label, "colour": look(name).colour,
         "shape": _shape(look(name).marker), "line": look(name).line}
        for name in in_order(algorithms)
    ]  # fmt: skip


def _shape(marker: str) -> str:
    """A marker of matplotlib as an SVG path between -1 and 1, upwards being less."""
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
