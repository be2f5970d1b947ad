"""One metric at the end of all fits, held against one algorithm, and what tests make of it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from onlinefa.presentation import (
    METRICS,
    at_step,
    from_to,
    in_reading_order,
    look,
    over_seeds,
    seeds_of_settings,
    settings_of,
    spelled,
)
from onlinefa.significance import LEVEL, MOST_SEEDS, smallest_p
from onlinefa.tables import ranks, render

_VALUES = [
    "difference", "standard_error", "pairs", "lost", "effect", "p", "p_holm", "seeds_needed",
]  # fmt: skip
# Where another seed is another split of the same table.
_SPLIT = ("gp", "network", "digits")


def write_tables(comparison: Path, outputs: Sequence[Path]) -> None:
    """Write a table under each path: compared_METRIC.FORMAT, or ranks.FORMAT."""
    compared = pd.read_parquet(comparison)
    for path in outputs:
        if path.stem == "ranks":
            ranks.write_table(compared, path)
            continue
        metric = path.stem.removeprefix("compared_")
        rows = compared_rows(compared, metric)
        shown = rows.drop(columns=["experiment", "compared_with"])
        render.write(path, shown, caption(rows, metric), *_grid(rows))


def compared_rows(comparison: pd.DataFrame, metric: str) -> pd.DataFrame:
    """What was tested, and what that shows: `better`, `worse` or nothing.

    The sign is that of the test, and not that of the mean difference, which leaves out lost pairs.
    """
    rows = comparison[comparison["metric"] == metric]
    keys = [*settings_of(rows), "algorithm"]
    rows = rows[rows["algorithm"] != rows["compared_with"]]
    rows = in_reading_order(rows[["experiment", "compared_with", "step", *keys, *_VALUES]], keys)
    shown = np.where(rows["effect"] < 0, "better", "worse")
    return rows.assign(shown=np.where(rows["p_holm"] < LEVEL, shown, ""))


def _grid(rows: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    keys = [*settings_of(rows), "algorithm"]
    fewest, most = seeds_of_settings(_tried(rows), "tried")
    keys += ["pairs"] if fewest < most else []
    header = [*keys, "difference", "p (Holm)", "at 5 %", "seeds needed"]
    body = [
        [*(spelled(key, row[key]) for key in keys), _difference(row), _p(row), row["shown"],
         _needed(row)]
        for row in rows.to_dict("records")
    ]  # fmt: skip
    return header, body


def _tried(rows: pd.DataFrame) -> pd.DataFrame:
    """With the number of pairs, of which some may have lost a value."""
    return rows.assign(tried=rows["pairs"] + rows["lost"])


def _difference(row: Mapping[Hashable, Any]) -> str:
    if row["pairs"] == 0:
        return "–"
    error = row["standard_error"]
    text = render.with_error(row["difference"], error, error)
    tried = row["pairs"] + row["lost"]
    return f"{text} ({row['pairs']}/{tried})" if row["lost"] else text


def _p(row: Mapping[Hashable, Any]) -> str:
    p = row["p_holm"]
    return "–" if np.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _needed(row: Mapping[Hashable, Any]) -> str:
    """How many seeds would do, and whether there are fewer."""
    needed = row["seeds_needed"]
    if np.isnan(needed):
        return "–"
    text = f"> {MOST_SEEDS}" if np.isinf(needed) else f"{needed:.0f}"
    return f"{text} (!)" if needed > row["pairs"] else text


def caption(rows: pd.DataFrame, metric: str) -> str:
    """What is shown, how it was tested, and what could not have been found."""
    label, reference = METRICS[metric].label, look(rows["compared_with"].iloc[0]).label
    tried = _tried(rows)
    sentences = [
        f"{label[0].upper()}{label[1:]} {at_step(rows)}, compared with {reference} seed by seed: "
        f"{over_seeds(tried, 'mean difference and standard error', 'tried')}; {_less(metric)}",
        _tested(rows, *seeds_of_settings(tried, "tried")),
        _too_few(rows),
        "Seeds are splits of a table, which overlap: p is too small rather than too large."
        if rows["experiment"].iloc[0] in _SPLIT
        else "",
    ]
    return " ".join(filter(None, sentences))


def _less(metric: str) -> str:
    of_what = {
        "lower": "less than zero is better.",
        "higher": "of the negative value, so that less than zero is better.",
        "one": "of the logarithm's distance from zero, so that less than zero is better.",
    }
    best = METRICS[metric].best
    if isinstance(best, float):
        return f"of the distance from {best:g}, so that less than zero is better."
    return of_what[best]


def _tested(rows: pd.DataFrame, fewest: int, most: int) -> str:
    """The test, or that it could not have shown anything."""
    tests = int(rows["p"].notna().sum())
    least = smallest_p(most, tests)
    how = f"Wilcoxon's signed-rank test, p adjusted by Holm's method for all {tests} lines"
    lost = int(rows["lost"].sum())
    failed = f"; who failed has lost the pair ({lost} pairs)" if lost else ""
    if least < LEVEL:
        return f"{how}; better and worse at 5 %{failed}."
    return (
        f"{how}{failed}: {from_to(fewest, most)} pairs cannot show any difference at 5 %, because "
        f"no adjusted p can be below {least:.2g}."
    )


def _too_few(rows: pd.DataFrame) -> str:
    """How many lines suggest what so few seeds would not show reliably."""
    few = int((rows["seeds_needed"] > rows["pairs"]).sum())
    text = (
        "Seeds needed: to find a difference such as the one observed with a power of 80 % in a "
        "paired t test of its own at 5 % (noncentral t)"
    )
    return f"{text}; in {few} of {len(rows)} lines that is more than there are (!)."
