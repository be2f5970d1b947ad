"""Statistics over seeds. All algorithms of one seed see the same data: differences are paired."""

from __future__ import annotations

import pandas as pd


def behind_best(values: pd.DataFrame, higher_is_better: bool) -> pd.DataFrame:
    """How far each algorithm is behind the best one, on average, and the standard error of that.

    `values` has a row per seed and a column per algorithm. An algorithm that has no value for some
    seed cannot be the best: its mean would leave out the cases where it failed.
    """
    losses = -values if higher_is_better else values
    complete = losses.dropna(axis="columns")
    if complete.empty:
        return pd.DataFrame({"behind": float("nan"), "behind_error": float("nan")}, values.columns)
    best = complete.mean().idxmin()
    behind = losses.sub(losses[best], axis="index")
    return pd.DataFrame({"behind": behind.mean(), "behind_error": behind.sem()})
