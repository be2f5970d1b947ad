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
    return _stacked({"behind": groups.mean(), "behind_error": groups.sem()})


def paired(losses: pd.DataFrame, setting: list[str], reference: str) -> pd.DataFrame:
    """Each algorithm against the reference, seed by seed, in each setting.

    `losses` is as above, but infinite where a fit failed, and missing only where none was tried.
    `difference` and its standard error are those of the `pairs` that have two values; `lost` counts
    the other ones. The test counts them as well: it asks for the order of differences only, and
    who failed is behind by more than in any other pair; where both failed, they are equal.
    """
    from onlinefa.significance import signed_rank  # which takes longer than a summary to import

    table = losses.reset_index()
    keys = [table[key] for key in setting]
    values, of_reference = table[list(losses.columns)], table[reference]
    differences = values.sub(of_reference, axis="index")
    tried = values.notna().mul(of_reference.notna(), axis="index")
    has_both = pd.DataFrame(np.isfinite(differences))
    groups = differences.where(has_both).groupby(keys, dropna=False)
    tested = differences.mask(tried & differences.isna(), 0).groupby(keys, dropna=False)
    tests = np.array([[signed_rank(of_one) for of_one in part.to_numpy().T] for _, part in tested])
    pairs = groups.count()
    parts = {
        "difference": groups.mean(),
        "standard_error": groups.sem(),
        "pairs": pairs,
        "lost": tried.groupby(keys, dropna=False).sum() - pairs,
        "effect": pd.DataFrame(tests[:, :, 0], pairs.index, pairs.columns),
        "p": pd.DataFrame(tests[:, :, 1], pairs.index, pairs.columns),
    }
    return _stacked(parts).drop(reference, level="algorithm")


def mean_ranks(losses: pd.DataFrame, setting: list[str]) -> pd.DataFrame:
    """The rank of each algorithm among all of its seed, 1 for the best, and its mean over seeds.

    `losses` are as those of `paired`: who failed is last. An algorithm that was not tried in all
    settings with all seeds has no rank: it would be ranked among fewer.
    """
    complete = losses.loc[:, losses.notna().all()]
    ranks = complete.rank(axis="columns").reset_index()
    keys = [ranks[key] for key in setting]
    return _stacked({"mean_rank": ranks[list(complete.columns)].groupby(keys, dropna=False).mean()})


def _stacked(parts: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """A row per setting and algorithm, a column per part."""
    return pd.concat(
        {name: part.rename_axis(columns="algorithm").stack() for name, part in parts.items()},
        axis="columns",
    )
