"""Average ranks of algorithms, and which of them could be chance: Friedman's and Nemenyi's tests.

As in Demsar, "Statistical comparisons of classifiers over multiple data sets", Journal of Machine
Learning Research 7, 2006.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import scipy  # whose stats take a second to import: at the first test, and there may be none

from onlinefa.significance import LEVEL


@dataclass(frozen=True)
class Ranking:
    ranks: pd.Series
    """The average rank of each algorithm, the best first."""
    blocks: int
    """What it was averaged over, and what that is called."""
    called: str
    p: float
    """Of Friedman's test that all algorithms are the same; not a number if there is no test."""

    @property
    def is_tested(self) -> bool:
        """There is no test of one block, nor of two algorithms."""
        return self.blocks >= 2 and len(self.ranks) >= 3

    @property
    def critical_difference(self) -> float:
        """How far apart ranks must be to differ at 5 %, in Nemenyi's test of all pairs."""
        return critical_difference(len(self.ranks), self.blocks) if self.is_tested else np.nan

    @property
    def cliques(self) -> list[list[str]]:
        """The largest groups of algorithms that were not shown to differ, the best first.

        All of them, if Friedman's test does not find any difference.
        """
        ranks = self.ranks.to_numpy()
        reach = self.critical_difference if self.p < LEVEL else np.inf
        ends = np.searchsorted(ranks, ranks + reach)
        return [
            list(self.ranks.index[start:end])
            for start, end in enumerate(ends)
            if end - start > 1 and (start == 0 or end > ends[start - 1])
        ]


def ranked(places: pd.DataFrame, called: str = "blocks") -> Ranking:
    """Rank algorithms, of which `places` has a column each, in every block, which are its rows.

    A block counts once, however many seeds it has: splits of one table share most of their rows and
    are not independent, so that as many more blocks would show what is not there. Each is ranked
    anew by what was averaged over its seeds, because the tests are about ranks from 1 to the number
    of algorithms, and averages crowd in the middle.
    """
    ranks = places.rank(axis="columns")
    untested = Ranking(ranks.mean().sort_values(kind="stable"), len(ranks), called, np.nan)
    if not untested.is_tested:
        return untested
    all_equal = (ranks.nunique(axis="columns") == 1).all()
    # By the chi-square distribution, which finds too little in few blocks, and not too much.
    p = 1.0 if all_equal else float(scipy.stats.friedmanchisquare(*ranks.to_numpy().T).pvalue)
    return replace(untested, p=p)


def critical_difference(algorithms: int, blocks: int) -> float:
    """Nemenyi's: how far apart average ranks must be."""
    quantile = scipy.stats.studentized_range.isf(LEVEL, algorithms, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(algorithms * (algorithms + 1) / (6 * blocks)))
