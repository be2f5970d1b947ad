"""Average ranks of algorithms, with Friedman's and Nemenyi's tests.

As in Demsar, "Statistical comparisons of classifiers over multiple data sets", Journal of Machine
Learning Research 7, 2006.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import scipy  # scipy.stats is imported at the first test, because that takes a second

from onlinefa_benchmark.statistics.significance import LEVEL

_RESULTS = frozenset(
    (
        "metric",
        "algorithm",
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
        "mean_rank",
        "compared_with",
    )
)
"""Columns of a comparison that do not identify a setting."""


@dataclass(frozen=True)
class Ranking:
    """Average ranks of algorithms over blocks, which are datasets or settings.

    Parameters
    ----------
    ranks : Series
        Average rank of each algorithm, the best first.
    blocks : int
        Number of blocks that ranks are averaged over.
    block_name : str
        What a block is, in the plural.
    p : float
        p of Friedman's test that all algorithms are the same; NaN if there is no test.
    """

    ranks: pd.Series
    blocks: int
    block_name: str
    p: float

    @property
    def is_tested(self) -> bool:
        """Whether there is a test, which takes two blocks and three algorithms."""
        return self.blocks >= 2 and len(self.ranks) >= 3

    @property
    def critical_difference(self) -> float:
        """Distance beyond which two ranks differ at 5 %, in Nemenyi's test of all pairs."""
        return critical_difference(len(self.ranks), self.blocks) if self.is_tested else np.nan

    @property
    def cliques(self) -> list[list[str]]:
        """Largest groups of algorithms that were not shown to differ, the best first.

        All algorithms are in one group if Friedman's test does not find any difference.
        """
        ranks = self.ranks.to_numpy()
        reach = self.critical_difference if self.p < LEVEL else np.inf
        ends = np.searchsorted(ranks, ranks + reach)
        return [
            list(self.ranks.index[start:end])
            for start, end in enumerate(ends)
            if end - start > 1 and (start == 0 or end > ends[start - 1])
        ]


def ranking(comparison: pd.DataFrame, metric: str) -> Ranking:
    """Rank the algorithms of a comparison by one metric.

    Blocks are datasets, or settings if there is one dataset only. With several datasets, settings
    are not blocks, because networks of several widths, or several walks, on one table are not
    independent.
    """
    rows = comparison[(comparison["metric"] == metric) & comparison["mean_rank"].notna()]
    settings = [column for column in comparison if column not in _RESULTS]
    has_several = rows["dataset"].nunique() > 1
    block, name = (["dataset"], "datasets") if has_several else (settings, "settings")
    keys = [rows[key] for key in [*block, "algorithm"]]
    places = rows["mean_rank"].groupby(keys, dropna=False).mean().unstack("algorithm")
    return rank(places, name)


def rank(places: pd.DataFrame, block_name: str = "blocks") -> Ranking:
    """Rank algorithms in every block and average the ranks.

    A block counts once, however many seeds it has: splits of one table share most of their rows and
    are not independent. Each block is ranked anew by its average over seeds, because the tests
    assume ranks from 1 to the number of algorithms.

    Parameters
    ----------
    places : DataFrame
        One column per algorithm, one row per block; lower is better.
    block_name : str, default="blocks"
        What a block is, in the plural.
    """
    ranks = places.rank(axis="columns")
    untested = Ranking(ranks.mean().sort_values(kind="stable"), len(ranks), block_name, np.nan)
    if not untested.is_tested:
        return untested
    all_equal = (ranks.nunique(axis="columns") == 1).all()
    # The chi-square approximation is conservative for few blocks.
    p = 1.0 if all_equal else float(scipy.stats.friedmanchisquare(*ranks.to_numpy().T).pvalue)
    return replace(untested, p=p)


def critical_difference(algorithms: int, blocks: int) -> float:
    """Return Nemenyi's critical difference of average ranks."""
    quantile = scipy.stats.studentized_range.isf(LEVEL, algorithms, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(algorithms * (algorithms + 1) / (6 * blocks)))
