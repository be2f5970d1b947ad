"""Statistics over seeds. All algorithms of one seed see the same data: differences are paired."""

from __future__ import annotations

import numpy as np
import pandas as pd


def behind_best(losses: pd.DataFrame, setting: list[str]) -> pd.DataFrame:
    """How far each algorithm is behind the best of its setting, on average, and the standard error
    of that.

    `losses` has a column per algorithm and a row per seed and setting, which are levels of its
    index. An algorithm that has no value for some seed cannot be the best: its mean would leave
    out the cases where it failed.
    """
    algorithms = list(losses.columns)
    table = losses.reset_index()
    keys = [table[key] for key in setting]
    values = table[algorithms]
    missing = values.isna().groupby(keys, dropna=False).transform("any")
    means = values.groupby(keys, dropna=False).transform("mean").mask(missing, np.inf).to_numpy()
    of_best = values.to_numpy()[np.arange(len(values)), means.argmin(axis=1)]
    of_best[np.isinf(means).all(axis=1)] = np.nan
    groups = values.sub(of_best, axis="index").groupby(keys, dropna=False)
    parts = {"behind": groups.mean(), "behind_error": groups.sem()}
    return pd.concat(
        {name: part.rename_axis(columns="algorithm").stack() for name, part in parts.items()},
        axis="columns",
    )
