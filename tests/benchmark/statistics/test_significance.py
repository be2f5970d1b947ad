"""Tests of paired differences, against enumeration and published numbers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from onlinefa_benchmark.statistics.significance import (
    holm,
    power,
    seeds_needed,
    signed_rank,
    smallest_p,
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
