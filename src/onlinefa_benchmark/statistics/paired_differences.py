"""Differences between algorithms, paired by seed: all algorithms of a seed get the same data."""

from __future__ import annotations

import numpy as np
import pandas as pd

from onlinefa_benchmark.statistics.significance import signed_rank


def behind_best(losses: pd.DataFrame, setting: list[str]) -> pd.DataFrame:
    """Compute the mean paired difference between each algorithm and the best of its setting.

    An algorithm without a value for some seed cannot be the best, because its mean would leave out
    the cases in which it failed.

    Parameters
    ----------
    losses : DataFrame
        One column per algorithm, one row per seed and setting, which are levels of the index.
    setting : list of str
        Levels of the index that make up a setting.

    Returns
    -------
    DataFrame
        The columns ``behind`` and ``behind_error`` (its standard error), by setting and algorithm.
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
    return _stack({"behind": groups.mean(), "behind_error": groups.sem()})


def paired(losses: pd.DataFrame, setting: list[str], baseline: str) -> pd.DataFrame:
    """Compare each algorithm with a baseline, seed by seed, in each setting.

    The test includes pairs in which one fit failed: it uses only the order of the differences, and
    a failed fit is behind by more than any other. If both failed, the difference is zero.

    Parameters
    ----------
    losses : DataFrame
        As for `behind_best`, but infinite where a fit failed, and missing only where none was
        tried.
    setting : list of str
        Levels of the index that make up a setting.
    baseline : str
        Column that the others are compared with.

    Returns
    -------
    DataFrame
        By setting and algorithm: ``difference`` and its ``standard_error`` over the ``pairs`` with
        two values, the number of other pairs, ``lost``, and ``effect`` and ``p`` of the test.
    """
    table = losses.reset_index()
    keys = [table[key] for key in setting]
    values, of_baseline = table[list(losses.columns)], table[baseline]
    differences = values.sub(of_baseline, axis="index")
    tried = values.notna().mul(of_baseline.notna(), axis="index")
    has_both = pd.DataFrame(np.isfinite(differences))
    groups = differences.where(has_both).groupby(keys, dropna=False)
    tested = differences.mask(tried & differences.isna(), 0).groupby(keys, dropna=False)
    tests = np.array([[signed_rank(column) for column in part.to_numpy().T] for _, part in tested])
    pairs = groups.count()
    parts = {
        "difference": groups.mean(),
        "standard_error": groups.sem(),
        "pairs": pairs,
        "lost": tried.groupby(keys, dropna=False).sum() - pairs,
        "effect": pd.DataFrame(tests[:, :, 0], pairs.index, pairs.columns),
        "p": pd.DataFrame(tests[:, :, 1], pairs.index, pairs.columns),
    }
    return _stack(parts).drop(baseline, level="algorithm")


def mean_ranks(losses: pd.DataFrame, setting: list[str]) -> pd.DataFrame:
    """Rank the algorithms of each seed, 1 for the best, and average over the seeds of a setting.

    Parameters
    ----------
    losses : DataFrame
        As for `paired`: a failed fit is infinite and therefore ranked last. An algorithm that was
        not tried in all settings with all seeds has no rank, because it would be ranked among
        fewer.
    setting : list of str
        Levels of the index that make up a setting.

    Returns
    -------
    DataFrame
        The column ``mean_rank``, by setting and algorithm.
    """
    complete = losses.loc[:, losses.notna().all()]
    ranks = complete.rank(axis="columns").reset_index()
    keys = [ranks[key] for key in setting]
    return _stack({"mean_rank": ranks[list(complete.columns)].groupby(keys, dropna=False).mean()})


def _stack(parts: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return one row per setting and algorithm, and one column per part."""
    return pd.concat(
        {name: part.rename_axis(columns="algorithm").stack() for name, part in parts.items()},
        axis="columns",
    )
