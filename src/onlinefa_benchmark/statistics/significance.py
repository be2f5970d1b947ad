"""Tests of paired differences, and the number of pairs that they need."""

from __future__ import annotations

from functools import cache

import numpy as np
import scipy  # scipy.stats is imported at the first test, because that takes a second

from onlinefa_benchmark.arrays import Array

LEVEL = 0.05
"""Level of all tests."""

POWER = 0.8
"""Power for which `seeds_needed` computes the number of seeds."""

MOST_SEEDS = 1000
"""Largest number of seeds that `seeds_needed` reports; beyond it, the number is infinite."""

_MOST_EXACT = 50  # pairs; with more, the normal approximation is as good


def signed_rank(differences: Array) -> tuple[float, float]:
    """Perform Wilcoxon's signed-rank test.

    Up to 50 pairs, p is exact, whether or not absolute differences are tied: it is computed from
    all assignments of signs to the observed ranks. (scipy's is exact only without ties, or up to 13
    pairs.)

    Parameters
    ----------
    differences : array of shape (n_pairs,)
        Paired differences; NaN where a pair was not tried. Zeros are left out.

    Returns
    -------
    effect : float
        From -1 (all differences are negative) to 1 (all are positive): the share of the sum of
        ranks that belongs to positive differences, minus the other share.
    p : float
        Two-sided p; 1 if all differences are zero, NaN if there is no pair.
    """
    differences = differences[~np.isnan(differences)]
    if not len(differences):
        return np.nan, np.nan
    differences = differences[differences != 0]
    if not len(differences):
        return 0.0, 1.0
    ranks = scipy.stats.rankdata(np.abs(differences))
    above, total = ranks[differences > 0].sum(), ranks.sum()
    effect = 2 * above / total - 1
    if len(ranks) > _MOST_EXACT:
        # Signed ranks have the order of the differences, of which some may be infinite.
        signed = ranks * np.sign(differences)
        return effect, scipy.stats.wilcoxon(signed, method="asymptotic").pvalue
    doubled = np.sort(np.rint(2 * ranks).astype(int))  # tied ranks may end in a half
    probabilities = _sum_distribution(tuple(doubled.tolist()))
    smaller = round(2 * min(above, total - above))
    return effect, min(1.0, 2 * probabilities[: smaller + 1].sum())


@cache  # without ties, it is the same for all samples of a size
def _sum_distribution(ranks: tuple[int, ...]) -> Array:
    """Return the probability of each sum of ranks, each included with probability 1/2."""
    probabilities = np.ones(1)
    for rank in ranks:
        nothing = np.zeros(rank)
        without = np.concatenate([probabilities, nothing])
        probabilities = (without + np.concatenate([nothing, probabilities])) / 2
    return probabilities


def holm(p: Array) -> Array:
    """Adjust p by Holm's method, which controls the family-wise error rate.

    Parameters
    ----------
    p : array of shape (n_tests,)
        Values of p; NaN where nothing was tested. Such entries do not count.
    """
    p = np.asarray(p, dtype=float)
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))]
    adjusted = np.full(len(p), np.nan)
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.maximum.accumulate(factors * p[order]).clip(max=1)
    return adjusted


def smallest_p(pairs: int, tests: int) -> float:
    """Return the smallest p, adjusted for a number of tests, that a number of pairs can give.

    It occurs if all differences have the same sign: two of the ``2 ** pairs`` assignments of signs
    are as extreme.
    """
    return min(1.0, tests * 2.0 ** (1 - pairs)) if pairs else 1.0


def standard_error(deviation: Array, pairs: Array, overlap: float = 0.0) -> Array:
    """Compute the standard error of a mean of paired differences.

    Splits of one table share rows, so that their differences are correlated and the variance of
    their mean does not fall to zero. Nadeau and Bengio, "Inference for the generalization error",
    Machine Learning 52, 2003, estimate it as (1 / pairs + overlap) times the variance of the
    differences, with the ratio of test rows to training rows as `overlap`.

    Parameters
    ----------
    deviation : array
        Standard deviations of differences.
    pairs : array
        Numbers of pairs.
    overlap : float, default=0
        Ratio of test rows to training rows; 0 for independent pairs.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return deviation * np.sqrt(1 / pairs + overlap)


def t_test(difference: Array, deviation: Array, pairs: Array, overlap: float = 0.0) -> Array:
    """Perform paired t tests; with an overlap, corrected resampled t tests.

    Parameters
    ----------
    difference, deviation, pairs : array
        Mean differences, standard deviations of differences, and numbers of pairs.
    overlap : float, default=0
        As for `standard_error`.

    Returns
    -------
    array
        Two-sided p; NaN with fewer than two pairs, or if all differences are zero.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(difference) / standard_error(deviation, pairs, overlap)
        return 2 * scipy.stats.t.sf(t, np.where(pairs > 1, pairs - 1, np.nan))


def power(pairs: Array, effect: Array, overlap: float = 0.0) -> Array:
    """Compute the power of a paired t test at 5 %.

    Exact for normal differences, by the noncentral t distribution. With an overlap, it is that of
    the corrected test, under the correlation of splits for which its standard error is right.

    Parameters
    ----------
    pairs : array
        Numbers of pairs.
    effect : array
        Mean differences in units of the standard deviation of differences.
    overlap : float, default=0
        As for `standard_error`.
    """
    freedom, shift = pairs - 1, effect / standard_error(np.ones_like(effect), pairs, overlap)
    return _power_of_shift(freedom, shift)


def _power_of_shift(freedom: Array, shift: Array) -> Array:
    edge = scipy.stats.t.isf(LEVEL / 2, freedom)
    # SciPy's probability of the wrong sign is NaN where it is negligible.
    wrong_sign = np.nan_to_num(scipy.stats.nct.cdf(-edge, freedom, shift))
    return scipy.stats.nct.sf(edge, freedom, shift) + wrong_sign


def detectable_difference(deviation: Array, pairs: Array, overlap: float = 0.0) -> Array:
    """Compute the smallest true difference that a paired t test finds with a power of 80 %.

    Parameters
    ----------
    deviation : array
        Standard deviations of differences.
    pairs : array
        Numbers of pairs.
    overlap : float, default=0
        As for `standard_error`.

    Returns
    -------
    array
        Differences; NaN with fewer than two pairs.
    """
    deviation, pairs = np.broadcast_arrays(np.asarray(deviation, float), np.asarray(pairs, float))
    shifts = np.array([_detectable_shift(int(n)) for n in pairs.ravel()]).reshape(pairs.shape)
    return shifts * standard_error(deviation, pairs, overlap)


@cache
def _detectable_shift(pairs: int) -> float:
    """Return the difference in standard errors that is found with a power of 80 %."""
    if pairs < 2:
        return float("nan")
    freedom = np.array(pairs - 1.0)

    def excess(shift: float) -> float:
        return float(_power_of_shift(freedom, np.array(shift))) - POWER

    return float(scipy.optimize.brentq(excess, 0.0, 20.0))


def seeds_needed(difference: Array, deviation: Array, overlap: float = 0.0) -> Array:
    """Compute the least number of pairs that shows a mean difference with a power of 80 %.

    The number is for one test, without adjustment, and assumes that the observed mean and standard
    deviation are the true ones.

    Parameters
    ----------
    difference, deviation : array
        Mean differences, and standard deviations of differences.
    overlap : float, default=0
        As for `standard_error`.

    Returns
    -------
    array
        Numbers of pairs; infinite above `MOST_SEEDS`, NaN where the effect is not defined.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = np.abs(difference) / deviation
    needed = np.full(np.shape(effect), np.nan)
    needed[~np.isnan(effect)] = np.inf
    # The search starts at the number for a test with a known standard deviation, which is a lower
    # bound. Two pairs show any effect beyond 100 standard deviations.
    effect = np.clip(effect, None, 100)
    known = sum(scipy.stats.norm.isf([LEVEL / 2, 1 - POWER]))
    with np.errstate(divide="ignore"):
        inverse = (effect / known) ** 2 - overlap
        least = np.ceil(1 / np.where(inverse > 0, inverse, 0.0)).clip(2)
    waiting = least <= MOST_SEEDS
    while waiting.any():
        enough = np.zeros_like(waiting)
        enough[waiting] = power(least[waiting], effect[waiting], overlap) >= POWER
        needed[enough] = least[enough]
        waiting &= ~enough
        least[waiting] += 1
        waiting &= least <= MOST_SEEDS
    return needed
