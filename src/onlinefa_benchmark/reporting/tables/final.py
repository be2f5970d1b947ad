"""Tables of one metric at the last step: a line for each setting, a column for each algorithm."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from onlinefa_benchmark.analysis.best import select_final
from onlinefa_benchmark.experiments.base import Experiment, Metric
from onlinefa_benchmark.reporting.tables import render
from onlinefa_benchmark.reporting.titles import capitalise
from onlinefa_benchmark.statistics.frames import sort_rows
from onlinefa_benchmark.statistics.seeds import describe_seeds

_VALUES = [
    "mean",
    "standard_error",
    "ok",
    "seeds",
    "statuses",
    "behind",
    "behind_error",
    "contract",
    "networks",
]

Grid = tuple[list[str], list[list[str]]]
"""The header and the lines of a table."""


def make_table(
    experiment: Experiment, summary: pd.DataFrame, metric: Metric
) -> tuple[pd.DataFrame, str, list[str], list[list[str]]]:
    """Return the rows, the caption, the header and the lines of a metric's table."""
    rows = final_rows(experiment, summary, metric)
    known = rows.drop(columns=["all_seeds", "resolution"]).rename(columns={"is_best": "best"})
    return known, caption(experiment, rows, metric), *grid(experiment, rows)


def final_rows(experiment: Experiment, summary: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    """Return the values of a metric at its last step, sorted, and which of them are best."""
    keys = experiment.setting_keys
    rows = select_final(summary, metric.name, keys)
    axes = [experiment.axis(key) for key in (*keys, "algorithm")]
    rows = sort_rows(rows[[*keys, "step", "algorithm", *_VALUES, "all_seeds", "is_best"]], axes)
    return rows.assign(resolution=_find_resolution(rows, keys))


def _find_resolution(rows: pd.DataFrame, keys: list[str]) -> pd.Series:
    """Return the error that determines how many digits are shown.

    It is the standard error, or that of the paired differences if it is so much smaller that all
    algorithms would look the same.
    """
    # Beyond the ninth digit, values that are the same for all seeds differ by rounding.
    rounding = 1e-9 * rows["mean"].abs()
    paired, errors = rows["behind_error"], rows["standard_error"]
    paired = paired.where(paired > rounding)
    of_setting = paired.groupby([rows[key] for key in keys]).transform("min")
    paired = paired.fillna(of_setting)
    least = 1e-6 * rows["mean"].abs()  # more digits would not be read
    resolution = errors.mask(paired < errors / 10, paired).clip(lower=least)
    return resolution.mask(errors <= rounding, 0)


def grid(experiment: Experiment, rows: pd.DataFrame) -> Grid:
    """Return the header and the lines of a table.

    Columns are the values of the experiment's `column_axis`; lines are the values of all others.
    """
    across = experiment.axis(experiment.column_axis)
    down = [key for key in [*experiment.setting_keys, "algorithm"] if key != across.name]
    columns = sorted(rows[across.name].unique(), key=across.sort_key)
    if rows["networks"].notna().any():
        # The values depend on how many networks an algorithm draws, which is the same number for
        # every dataset.
        drawn = rows.groupby("algorithm")["networks"].transform("max")
        rows, down = rows.assign(networks=drawn.map(_format_networks)), [*down, "networks"]
    if across.name == "algorithm" and rows["all_seeds"].nunique() > 1:
        rows, down = rows.assign(seeds=rows["all_seeds"]), [*down, "seeds"]
    title = f"{across.name} " if across.kind is not str else ""
    header = [*down, *(f"{title}{across.format(value)}" for value in columns)]
    axes = [experiment.axis(key) for key in down]
    lines: dict[tuple[Any, ...], dict[Any, str]] = {}
    for row in rows.to_dict("records"):
        key = tuple(row[axis.name] for axis in axes)
        lines.setdefault(key, {})[row[across.name]] = _format_cell(row)

    def place(key: tuple[Any, ...]) -> list[Any]:
        return [axis.sort_key(value) for axis, value in zip(axes, key, strict=True)]

    body = [
        [
            *(axis.format(value) for axis, value in zip(axes, key, strict=True)),
            *(lines[key].get(value, "") for value in columns),
        ]
        for key in sorted(lines, key=place)
    ]
    return header, body


def _format_cell(row: Mapping[Hashable, Any]) -> str:
    text = _format_mean(row)
    return f"**{text}**" if row["is_best"] else text


def _format_networks(number: float) -> str:
    return "" if pd.isna(number) else f"{number:.0f}" if number else "closed form"


def _format_mean(row: Mapping[Hashable, Any]) -> str:
    """Format a mean, its standard error, and the number of seeds if some are missing."""
    if row["ok"] == 0:
        return "–"
    text = render.with_error(row["mean"], row["standard_error"], row["resolution"])
    return text if row["ok"] == row["all_seeds"] else f"{text} ({row['ok']}/{row['all_seeds']})"


def caption(experiment: Experiment, rows: pd.DataFrame, metric: Metric) -> str:
    """Return the caption of a metric's table."""
    if rows.empty:
        return f"{capitalise(metric.label)}: no cell has a value."
    facts = [
        f"{capitalise(metric.label)} {experiment.step_phrase(rows)}",
        *sorted(set(rows["contract"]) - {""}),
        _describe_seeds(rows, experiment.setting_keys),
        metric.direction,
    ]
    return (
        f"{'; '.join(facts)}. Bold: the best of a setting, and values behind it by no more than "
        "one standard error of the paired difference."
    )


def _describe_seeds(rows: pd.DataFrame, keys: list[str]) -> str:
    """Return the number of seeds; if it depends on the dataset alone, name exceptions."""
    most = rows["all_seeds"].max()
    fewer = rows[rows["all_seeds"] < most]
    if fewer.empty or not _depends_on_dataset_alone(rows, keys):
        return describe_seeds(rows, keys)
    numbers = fewer.groupby("dataset")["all_seeds"].max()
    exceptions = ", ".join(f"{name}: {seeds}" for name, seeds in numbers.items())
    return f"{describe_seeds(rows.drop(fewer.index), keys)} ({exceptions})"


def _depends_on_dataset_alone(rows: pd.DataFrame, keys: list[str]) -> bool:
    return "dataset" in keys and bool((rows.groupby("dataset")["all_seeds"].nunique() == 1).all())
