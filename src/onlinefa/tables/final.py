"""One metric at the end of all fits: a line per setting, a column per algorithm."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd

from onlinefa.presentation import (
    METRICS,
    at_step,
    columns_of,
    in_reading_order,
    over_seeds,
    position,
    settings_of,
    spelled,
)
from onlinefa.summary import read_summary
from onlinefa.tables import render

_VALUES = [
    "mean", "standard_error", "ok", "seeds", "statuses", "behind", "behind_error", "contract",
    "networks",
]  # fmt: skip


def write_tables(summary: Path, outputs: Sequence[Path]) -> None:
    """Write a table under each path: the metric of its name, in the format of its suffix."""
    summarised = read_summary(summary)
    for metric, paths in groupby(sorted(outputs), key=lambda path: path.stem):
        rows = final_rows(summarised, metric)
        known = rows.drop(columns=["experiment", "resolution", "all_seeds"])
        shown = caption(rows, metric), *grid(rows)
        for path in paths:
            render.write(path, known, *shown)


def final_rows(summary: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The metric at the largest step, and whether a value is the best or as good as the best.

    As good means behind it by no more than one standard error of the paired difference. Seeds are
    different models, so that the standard error of a mean may be much larger than that of a
    difference between two algorithms.
    """
    rows = summary[summary["metric"] == metric]
    rows = rows[rows["step"] == rows["step"].max()]
    columns = settings_of(rows)
    rows = rows[["experiment", *columns, "step", "algorithm", *_VALUES]]
    rows = in_reading_order(rows, [*columns, "algorithm"])
    # Some algorithms may be limited to fewer, and some datasets.
    rows["all_seeds"] = rows.groupby(columns, dropna=False)["seeds"].transform("max")
    rows["best"] = is_best(rows)
    rows["resolution"] = _resolution(rows)
    return rows


def is_best(rows: pd.DataFrame) -> pd.Series:
    """Whether a value is behind the best of its setting by no more than one standard error, and
    there for all seeds.

    Nobody is the best where somebody who was tried with fewer seeds is better with these.
    """
    keys = [rows[key] for key in (*settings_of(rows), "step", "metric") if key in rows]
    all_seeds = rows["seeds"].groupby(keys, dropna=False).transform("max")
    is_better = (rows["seeds"] < all_seeds) & (rows["behind"] < 0)
    is_undecided = is_better.groupby(keys, dropna=False).transform("any")
    # An infinite error would make anything as good. Beyond nine digits, values are only rounded
    # differently.
    error = rows["behind_error"].where(rows["behind_error"] < math.inf, 0)
    is_close = rows["behind"] <= error.clip(lower=1e-9 * rows["mean"].abs())
    return is_close & (rows["ok"] == all_seeds) & ~is_undecided


def _resolution(rows: pd.DataFrame) -> pd.Series:
    """The error that decides how many digits are shown: the standard error, or that of the paired
    differences where it is so much smaller that all algorithms would look the same."""
    # Beyond nine digits, what is the same for all seeds is only rounded differently.
    rounding = 1e-9 * rows["mean"].abs()
    paired, errors = rows["behind_error"], rows["standard_error"]
    paired = paired.where(paired > rounding)
    of_best = paired.groupby([rows[key] for key in settings_of(rows)]).transform("min")
    paired = paired.fillna(of_best)
    least = 1e-6 * rows["mean"].abs()  # nobody reads more digits
    resolution = errors.mask(paired < errors / 10, paired).clip(lower=least)
    return resolution.mask(errors <= rounding, 0)


def to_markdown(rows: pd.DataFrame, metric: str) -> str:
    return render.to_markdown(caption(rows, metric), *grid(rows))


def grid(rows: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Header and lines of a table: a line per setting and a column per algorithm, or, for networks,
    a line per dataset and algorithm and a column per width."""
    across = columns_of(rows)
    down = [key for key in [*settings_of(rows), "algorithm"] if key != across]
    columns = sorted(rows[across].unique(), key=lambda value: position(across, value))
    title = f"{across} " if across == "width" else ""
    if rows["networks"].notna().any():
        # An algorithm draws as many for every dataset, and how many is part of what its value is.
        drawn = rows.groupby("algorithm")["networks"].transform("max")
        rows, down = rows.assign(networks=drawn.map(_drawn)), [*down, "networks"]
    if across == "algorithm" and rows["all_seeds"].nunique() > 1:
        rows, down = rows.assign(seeds=rows["all_seeds"]), [*down, "seeds"]
    header = [*down, *(f"{title}{spelled(across, value)}" for value in columns)]
    lines: dict[tuple[Any, ...], dict[Any, str]] = {}
    for row in rows.to_dict("records"):
        lines.setdefault(tuple(row[key] for key in down), {})[row[across]] = _cell(row)
    body = [
        [*map(spelled, down, line), *(cells.get(value, "") for value in columns)]
        for line, cells in sorted(lines.items(), key=lambda item: [*map(position, down, item[0])])
    ]
    return header, body


def _cell(row: Mapping[Hashable, Any]) -> str:
    text = _mean_and_error(row)
    return f"**{text}**" if row["best"] else text


def _drawn(number: float) -> str:
    return "" if pd.isna(number) else f"{number:.0f}" if number else "closed form"


def _mean_and_error(row: Mapping[Hashable, Any]) -> str:
    """As many digits as the row's resolution supports, one of its own beyond the first."""
    if row["ok"] == 0:
        return "–"
    text = render.with_error(row["mean"], row["standard_error"], row["resolution"])
    return text if row["ok"] == row["all_seeds"] else f"{text} ({row['ok']}/{row['all_seeds']})"


def caption(rows: pd.DataFrame, metric: str) -> str:
    label = METRICS[metric].label
    contracts = sorted(set(rows["contract"]) - {""})
    facts = [
        f"{label[0].upper()}{label[1:]} {at_step(rows)}",
        *contracts,
        _over_seeds(rows),
        METRICS[metric].better,
    ]
    return (
        f"{'; '.join(facts)}. Bold: the best, and what is behind it by no more than one standard "
        "error of the paired difference."
    )


def _over_seeds(rows: pd.DataFrame) -> str:
    """How many, and which datasets have fewer, where they are all that settings differ in."""
    most = rows["all_seeds"].max()
    fewer = rows[rows["all_seeds"] < most]
    if fewer.empty or settings_of(rows) != ["dataset"]:
        return over_seeds(rows)
    number = fewer.groupby("dataset")["all_seeds"].max()
    named = ", ".join(f"{name}: {seeds}" for name, seeds in number.items())
    return f"{over_seeds(rows.drop(fewer.index))} ({named})"
