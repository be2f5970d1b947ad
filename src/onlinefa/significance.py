"""Whether differences in pairs could be chance, and how many pairs it takes to tell."""

from __future__ import annotations

from functools import cache

import numpy as np
import scipy  # whose stats take a second to import: at the first test, and there may be none

from onlinefa.gaussian import Array

LEVEL = 0.05
POWER = 0.8
MOST_SEEDS = 1000
"""A difference that needs more is none that anybody would look for."""

_MOST_EXACT = 50  # pairs; with more, the normal approximation is as good


def signed_rank(differences: Array) -> tuple[float, float]:
    """Wilcoxon's signed-rank test: the effect and its two-sided p.

    The effect is -1 if all differences are negative, 1 if all are positive, and in between the
    share of the sum of ranks that are, less the other share. What is not a number was not tried,
    and without any pair there is no test. Zeros tell nothing and are left out; if all are zeros,
    p is 1.

    Up to 50 pairs p is exact, whether absolute differences are equal or not: signs are tossed for
    the ranks that there are. (scipy's is exact only without equal ones, or for 13 pairs.)
    """
    differences = differences[~np.isnan(differences)]
    if not len(differences):
        return np.nan, np.nan
    differences = differences[differences != 0]
    if not len(differences):
        return 0.0, 1.0
    ranks = scipy.stats.rankdata(np.abs(differences))
    above, all_ranks = ranks[differences > 0].sum(), ranks.sum()
    effect = 2 * above / all_ranks - 1
    if len(ranks) > _MOST_EXACT:
        # Ranks with signs have the order of the differences, of which some are infinite.
        signed = ranks * np.sign(differences)
        return effect, scipy.stats.wilcoxon(signed, method="asymptotic").pvalue
    twice = np.sort(np.rint(2 * ranks).astype(int))  # equal ranks end in a half
    of_sums = _distribution(tuple(twice.tolist()))
    smaller = round(2 * min(above, all_ranks - above))
    return effect, min(1.0, 2 * of_sums[: smaller + 1].sum())


@cache  # without equal differences, it is the same for all of as many pairs
def _distribution(ranks: tuple[int, ...]) -> Array:
    """How probable each sum of ranks is, if each is in it with the toss of a coin."""
    probabilities = np.ones(1)
    for rank in ranks:
        nothing = np.zeros(rank)
        without = np.concatenate([probabilities, nothing])
        probabilities = (without + np.concatenate([nothing, probabilities])) / 2
    return probabilities


def holm(p: Array) -> Array:
    """Holm's adjustment: who says that all below 5 % are real is wrong at all in 5 % of cases.

    What has no p was not tested, and does not count.
    """
    p = np.asarray(p, dtype=float)
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))]
    adjusted = np.full(len(p), np.nan)
    times = np.arange(len(order), 0, -1)
    adjusted[order] = np.maximum.accumulate(times * p[order]).clip(max=1)
    return adjusted


def smallest_p(pairs: int, tests: int) -> float:
    """The least that Holm leaves of any of so many tests, if all pairs agree: of the 2^n ways in
    which signs can fall, two are as extreme."""
    return min(1.0, tests * 2.0 ** (1 - pairs)) if pairs else 1.0


def power(pairs: Array, effect: Array) -> Array:
    """How often a paired t test at 5 % would see a mean difference of so many standard deviations.

    Exact, by the noncentral t distribution, if differences are normal.
    """
    freedom, shift = pairs - 1, effect * np.sqrt(pairs)
    edge = scipy.stats.t.isf(LEVEL / 2, freedom)
    return scipy.stats.nct.sf(edge, freedom, shift) + scipy.stats.nct.cdf(-edge, freedom, shift)


def seeds_needed(difference: Array, deviation: Array) -> Array:
    """The least number of pairs that would show such a mean difference with a power of 80 %.

    Of one test alone, if the differences are what they seem to be; infinite beyond 1000.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = np.abs(difference) / deviation
    needed = np.full(np.shape(effect), np.nan)
    needed[~np.isnan(effect)] = np.inf
    # A test that knows the standard deviation needs no more: from there on, one more at a time.
    # Two pairs show whatever is beyond 100 standard deviations.
    effect = np.clip(effect, None, 100)
    known = sum(scipy.stats.norm.isf([LEVEL / 2, 1 - POWER]))
    with np.errstate(divide="ignore"):
        least = np.ceil((known / effect) ** 2).clip(2)
    waiting = least <= MOST_SEEDS
    while waiting.any():
        enough = np.zeros_like(waiting)
        enough[waiting] = power(least[waiting], effect[waiting]) >= POWER
        needed[enough] = least[enough]
        waiting &= ~enough
        least[waiting] += 1
    return needed
