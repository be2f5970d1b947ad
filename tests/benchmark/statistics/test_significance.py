"""Tests of paired differences, against enumeration and published numbers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from onlinefa_benchmark.statistics.significance import (
    detectable_difference,
    holm,
    power,
    seeds_needed,
    signed_rank,
    smallest_p,
    standard_error,
    t_test,
)


def enumerated(differences):
    """Return the share of all assignments of signs with a rank sum at least as extreme."""
    ranks = stats.rankdata(np.abs(differences))
    sums = [ranks[list(signs)].sum() for signs in product([False, True], repeat=len(ranks))]
    middle, seen = ranks.sum() / 2, ranks[differences > 0].sum()
    return np.mean(np.abs(np.array(sums) - middle) >= abs(seen - middle) - 1e-9)


@pytest.mark.parametrize("pairs", [1, 2, 5, 9])
@pytest.mark.parametrize("digits", [1, 8], ids=["equal ones", "all different"])
def test_the_signed_rank_test_equals_enumeration_of_all_signs(pairs, digits):
    random = np.random.default_rng(pairs)
    for shift in (0, 0.3, 2):
        differences = np.round(random.normal(shift, 0.5, pairs), digits)
        differences = differences[differences != 0]
        effect, p = signed_rank(differences)
        assert p == pytest.approx(enumerated(differences))
        ranks = stats.rankdata(np.abs(differences))
        assert effect == pytest.approx((np.sign(differences) * ranks).sum() / ranks.sum())


def test_the_signed_rank_test_equals_scipy():
    differences = np.random.default_rng(0).normal(0.3, 1, 30)
    exact = stats.wilcoxon(differences, method="exact").pvalue
    assert signed_rank(differences)[1] == pytest.approx(exact)
    many = np.random.default_rng(0).normal(0.1, 1, 200)
    assert signed_rank(many)[1] == pytest.approx(stats.wilcoxon(many).pvalue)


def test_zero_differences_are_ignored():
    assert signed_rank(np.zeros(5)) == (0, 1)
    assert signed_rank(np.array([0.0, 0.0, 1.0, 2.0, 3.0])) == signed_rank(np.array([1.0, 2, 3]))
    assert np.isnan(signed_rank(np.array([np.nan]))).all()


def test_holm_by_hand():
    # Sorted p 0.01, 0.02, 0.03, 0.5 times 4, 3, 2, 1, made monotone: 0.04, 0.06, 0.06, 0.5.
    adjusted = holm(np.array([0.02, 0.5, np.nan, 0.01, 0.03]))
    assert adjusted == pytest.approx([0.06, 0.5, np.nan, 0.04, 0.06], nan_ok=True)
    assert holm(np.array([0.9, 0.8])).tolist() == [1, 1]


@pytest.mark.parametrize("pairs", [1, 3, 6, 12])
def test_smallest_p_is_reached_if_all_differences_have_one_sign(pairs):
    _, p = signed_rank(np.arange(1.0, pairs + 1))
    assert smallest_p(pairs, 1) == pytest.approx(p)
    assert smallest_p(pairs, 7) == pytest.approx(holm(np.full(7, p))[0])


@pytest.mark.parametrize(("effect", "seeds"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_seeds_needed_equal_published_tables(effect, seeds):
    # Paired t test, two-sided, 5 %, power 80 %; values of G*Power.
    assert seeds_needed(np.array([-3 * effect]), np.array([3.0])) == [seeds]


def test_seeds_needed_are_minimal():
    effects = np.array([0.11, 0.3, 1.0, 2.0, 5.0])
    needed = seeds_needed(effects, np.ones(5))
    assert (power(needed, effects) >= 0.8).all()
    fewer = needed > 2
    assert (power(needed[fewer] - 1, effects[fewer]) < 0.8).all()
    assert power(np.array([7.0]), np.zeros(1)) == pytest.approx(0.05)


def test_seeds_needed_in_limiting_cases():
    needed = seeds_needed(np.array([0.0, 1.0, 1e-9, np.nan, 0.0]), np.array([1.0, 0, 1, 1, 0]))
    np.testing.assert_array_equal(needed, [np.inf, 2, np.inf, np.nan, np.nan])


# -- t tests, with and without overlapping splits --------------------------------------------------


def test_the_t_test_equals_scipy():
    differences = np.random.default_rng(0).normal(0.4, 1, 12)
    mean, deviation = differences.mean(), differences.std(ddof=1)
    found = t_test(np.array([mean]), np.array([deviation]), np.array([12]))
    assert found == pytest.approx([stats.ttest_1samp(differences, 0).pvalue])


def test_the_corrected_test_by_hand():
    # Ten splits of nine to one, mean difference 0.3, deviation 0.5: the standard error is
    # 0.5 sqrt(1/10 + 1/9) = 0.2297, and t = 1.306 with nine degrees of freedom.
    error = standard_error(np.array([0.5]), np.array([10]), 1 / 9)
    assert error == pytest.approx([0.22973], abs=1e-5)
    p = t_test(np.array([0.3]), np.array([0.5]), np.array([10]), 1 / 9)
    assert p == pytest.approx([2 * stats.t.sf(0.3 / 0.229734, 9)], rel=1e-4)


def test_t_tests_without_a_deviation_or_with_one_pair():
    p = t_test(np.array([1.0, 0.0, 1.0, np.nan]), np.array([0.0, 0, 1, 1]), np.array([5, 5, 1, 5]))
    np.testing.assert_array_equal(p, [0, np.nan, np.nan, np.nan])


def correlated_differences(random, pairs, overlap, trials):
    """Draw differences of variance 1, with the correlation for which the corrected test holds.

    The variance of their mean is 1 / n + (1 - 1 / n) rho, and the mean of the sample variance is
    1 - rho. The ratio of the two is 1 / n + overlap for rho = overlap / (1 + overlap).
    """
    rho = overlap / (1 + overlap)
    common = random.normal(size=(trials, 1))
    own = random.normal(size=(trials, pairs))
    return np.sqrt(rho) * common + np.sqrt(1 - rho) * own


def test_the_corrected_test_has_its_level_for_correlated_splits():
    trials, overlap = 4000, 1 / 9
    drawn = correlated_differences(np.random.default_rng(1), 20, overlap, trials)
    means, deviations = drawn.mean(axis=1), drawn.std(axis=1, ddof=1)
    pairs = np.full(trials, 20)
    corrected = np.mean(t_test(means, deviations, pairs, overlap) < 0.05)
    plain = np.mean(t_test(means, deviations, pairs) < 0.05)
    assert corrected == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / trials))
    assert plain > 0.2  # the splits are not independent


@pytest.mark.parametrize("overlap", [0, 1 / 9])
def test_the_detectable_difference_is_found_with_a_power_of_80_per_cent(overlap):
    pairs = np.array([2, 3, 10, 20, 200])
    found = detectable_difference(np.full(5, 0.3), pairs, overlap)
    assert power(pairs, found / 0.3, overlap) == pytest.approx(np.full(5, 0.8))
    assert np.isnan(detectable_difference(np.array([0.3]), np.array([1]))).all()


def test_the_detectable_difference_equals_published_tables():
    # Paired t test, two-sided, 5 %, power 80 %, 34 pairs: G*Power has an effect of 0.495.
    assert detectable_difference(np.ones(1), np.array([34])) == pytest.approx([0.495], abs=5e-4)


def test_overlapping_splits_have_a_floor_below_which_nothing_is_detected():
    # With many splits the detectable difference approaches (1.960 + 0.842) sqrt(1/9) deviations.
    many = detectable_difference(np.ones(1), np.array([1000]), 1 / 9)
    assert many == pytest.approx([2.8016 / 3], rel=0.01)
    needed = seeds_needed(np.array([0.9, 1.0]), np.ones(2), 1 / 9)
    assert needed[0] == np.inf
    assert power(needed[1:], np.ones(1), 1 / 9) >= 0.8
    assert power(needed[1:] - 1, np.ones(1), 1 / 9) < 0.8
