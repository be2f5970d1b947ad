"""Tables of one metric at the last step, compared with one algorithm, and the tests."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from onlinefa_benchmark.experiments.base import Experiment, Metric
from onlinefa_benchmark.looks import look
from onlinefa_benchmark.reporting.tables import render
from onlinefa_benchmark.reporting.titles import capitalise
from onlinefa_benchmark.statistics.frames import sort_rows
from onlinefa_benchmark.statistics.seeds import count_seeds, describe_seeds, format_range
from onlinefa_benchmark.statistics.significance import LEVEL, MOST_SEEDS, smallest_p

_VALUES = [
    "difference",
    "standard_error",
    "pairs",
    "lost",
    "effect",
    "p",
    "p_holm",
    "p_t",
    "p_t_holm",
    "seeds_needed",
    "detectable",
]


def make_table(
    experiment: Experiment, comparison: pd.DataFrame, metric: Metric
) -> tuple[pd.DataFrame, str, list[str], list[list[str]]]:
    """Return the rows, the caption, the header and the lines of a metric's comparison."""
    rows = compared_rows(experiment, comparison, metric)
    shown = rows.drop(columns="compared_with")
    return shown, caption(experiment, rows, metric), *_grid(experiment, rows)


def compared_rows(experiment: Experiment, comparison: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    """Return the tests of a metric, and in the column `shown` their results.

    A result is ``better``, ``worse`` or empty. Its sign is that of Wilcoxon's test, not that of the
    mean difference, which leaves out lost pairs. If seeds are splits of a table, both tests have to
    show the difference.
    """
    rows = comparison[comparison["metric"] == metric.name]
    keys = [*experiment.setting_keys, "algorithm"]
    rows = rows[rows["algorithm"] != rows["compared_with"]]
    rows = sort_rows(
        rows[["compared_with", "step", *keys, *_VALUES]], [experiment.axis(key) for key in keys]
    )
    p = rows[["p_holm", "p_t_holm"]].max(axis="columns") if experiment.overlap else rows["p_holm"]
    shown = np.where(rows["effect"] < 0, "better", "worse")
    return rows.assign(shown=np.where(p < LEVEL, shown, ""))


def _grid(experiment: Experiment, rows: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    axes = [experiment.axis(key) for key in (*experiment.setting_keys, "algorithm")]
    fewest, most = count_seeds(_count_tried(rows), experiment.setting_keys, "tried")
    axes += [experiment.axis("pairs")] if fewest < most else []
    columns: dict[str, Callable[[Mapping[Hashable, Any]], str]] = {
        "difference": _format_difference,
        "detectable": _format_detectable,
        "p (Holm)": lambda row: _format_p(row["p_holm"]),
        "corrected t (Holm)": lambda row: _format_p(row["p_t_holm"]),
        "at 5 %": lambda row: str(row["shown"]),
        "seeds needed": _format_seeds_needed,
    }
    if not experiment.overlap:
        del columns["corrected t (Holm)"]
    body = [
        [
            *(axis.format(row[axis.name]) for axis in axes),
            *(format_value(row) for format_value in columns.values()),
        ]
        for row in rows.to_dict("records")
    ]
    return [*(axis.name for axis in axes), *columns], body


def _count_tried(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the number of all pairs, including those that have lost a value."""
    return rows.assign(tried=rows["pairs"] + rows["lost"])


def _format_difference(row: Mapping[Hashable, Any]) -> str:
    if row["pairs"] == 0:
        return "–"
    error = row["standard_error"]
    text = render.with_error(row["difference"], error, error)
    tried = row["pairs"] + row["lost"]
    return f"{text} ({row['pairs']:.0f}/{tried:.0f})" if row["lost"] else text


def _format_detectable(row: Mapping[Hashable, Any]) -> str:
    detectable = row["detectable"]
    return "–" if np.isnan(detectable) else f"{detectable:.2g}"


def _format_p(p: float) -> str:
    return "–" if np.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _format_seeds_needed(row: Mapping[Hashable, Any]) -> str:
    """Format how many seeds are needed, with a mark if there are fewer."""
    needed = row["seeds_needed"]
    if np.isnan(needed):
        return "–"
    text = f"> {MOST_SEEDS}" if np.isinf(needed) else f"{needed:.0f}"
    return f"{text} (!)" if needed > row["pairs"] else text


def caption(experiment: Experiment, rows: pd.DataFrame, metric: Metric) -> str:
    """Return the caption: the values, the test, and its limits."""
    if rows.empty:
        return f"{capitalise(metric.label)}: nothing to compare."
    reference, keys = look(rows["compared_with"].iloc[0]).label, experiment.setting_keys
    tried = _count_tried(rows)
    seeds = describe_seeds(tried, keys, "mean difference and standard error", "tried")
    sentences = [
        f"{capitalise(metric.label)} {experiment.step_phrase(rows)}, compared with {reference} "
        f"seed by seed: {seeds}; {_describe_sign(metric)}",
        _describe_test(rows, *count_seeds(tried, keys, "tried")),
        _describe_overlap(experiment),
        _describe_seeds_needed(rows),
    ]
    return " ".join(filter(None, sentences))


def _describe_sign(metric: Metric) -> str:
    """Return what the difference is taken of; less than zero is always better."""
    if isinstance(metric.best, float):
        return f"of the distance from {metric.best:g}, so that less than zero is better."
    return {
        "lower": "less than zero is better.",
        "higher": "of the negative value, so that less than zero is better.",
        "one": "of the logarithm's distance from zero, so that less than zero is better.",
    }[metric.best]


def _describe_test(rows: pd.DataFrame, fewest: int, most: int) -> str:
    """Describe the test, and whether the number of pairs is too small for any difference."""
    tests = int(rows["p"].notna().sum())
    least = smallest_p(most, tests)
    how = f"Wilcoxon's signed-rank test, p adjusted by Holm's method for all {tests} lines"
    lost = int(rows["lost"].sum())
    failed = f"; a failed fit loses its pair ({lost} pairs)" if lost else ""
    if least < LEVEL:
        return f"{how}; better and worse at 5 %{failed}."
    return (
        f"{how}{failed}: {format_range(fewest, most)} pairs cannot show any difference at 5 %, "
        f"because no adjusted p can be below {least:.2g}."
    )


def _describe_overlap(experiment: Experiment) -> str:
    """Return which test is added if seeds are splits of a table."""
    if not experiment.overlap:
        return ""
    return (
        "Seeds are splits of a table, which overlap, so that p of Wilcoxon's test is too small: a "
        "difference is better or worse if the corrected resampled t test (Nadeau and Bengio, 2003) "
        "shows it as well."
    )


def _describe_seeds_needed(rows: pd.DataFrame) -> str:
    """Return how many lines have fewer seeds than they need."""
    few = int((rows["seeds_needed"] > rows["pairs"]).sum())
    text = (
        "Detectable: the smallest true difference that a single paired t test at 5 % finds with a "
        "power of 80 % (noncentral t). Seeds needed: to find a difference such as the one observed "
        "with that power"
    )
    return f"{text}; in {few} of {len(rows)} lines that is more than there are (!)."
