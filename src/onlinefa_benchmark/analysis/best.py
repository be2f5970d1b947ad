"""The rule by which algorithms count as the best of a setting.

Tables, charts and verdicts all use `mark_best`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd


def select_final(summary: pd.DataFrame, metric: str, setting: Sequence[str]) -> pd.DataFrame:
    """Return the values of a metric at its last step, with the columns that `mark_best` adds."""
    rows = summary[(summary["metric"] == metric) & summary["i"].isna()]
    return mark_best(rows[rows["step"] == rows["step"].max()], setting)


def mark_best(rows: pd.DataFrame, setting: Sequence[str]) -> pd.DataFrame:
    """Add columns that mark the best values of each setting.

    A value counts as best if it is behind the best of its setting by no more than one standard
    error of the paired difference, its algorithm has a value for all seeds, and no algorithm with
    fewer seeds is better in the setting. Seeds are different models or splits, so that the standard
    error of a mean may be much larger than that of a difference between two algorithms.

    Parameters
    ----------
    rows : DataFrame
        Rows of a summary.
    setting : sequence of str
        Columns that make up a setting.

    Returns
    -------
    DataFrame
        The rows with further columns: ``all_seeds``, the largest number of seeds of an algorithm in
        the setting; ``is_candidate``, whether a value could be the best; and ``is_best``.
    """
    keys = [rows[key] for key in (*setting, "step", "metric")]
    all_seeds = rows["seeds"].groupby(keys, dropna=False).transform("max")
    is_better_with_fewer = (rows["seeds"] < all_seeds) & (rows["behind"] < 0)
    is_undecided = is_better_with_fewer.groupby(keys, dropna=False).transform("any")
    is_candidate = (rows["ok"] == all_seeds) & rows["behind"].notna() & ~is_undecided
    # With an infinite error, any value would count as best. Differences beyond the ninth digit are
    # rounding errors.
    error = rows["behind_error"].where(rows["behind_error"] < math.inf, 0)
    is_close = rows["behind"] <= error.clip(lower=1e-9 * rows["mean"].abs())
    return rows.assign(
        all_seeds=all_seeds, is_candidate=is_candidate, is_best=is_candidate & is_close
    )
