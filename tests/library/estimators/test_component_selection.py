"""Tests of recursive EM: selection of the number of factors, and forgetting of old rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from onlinefa import BatchML, LowRankGaussian, RecursiveEM
from onlinefa.estimators._block_em import RecursiveModel
from onlinefa.estimators._component_selection import ComponentSelection

D, MOST, SIZE = 15, 5, 40


def clear(K, seed=0, strength=1.0):
    """A model in which each factor has several times the variance of the noise."""
    random = np.random.default_rng(seed)
    mean, factors = random.normal(size=D), strength * random.normal(size=(D, K))
    return LowRankGaussian(mean, factors, np.ones(D))


def side_by_side(rows, first=SIZE):
    """A fit for every number of factors; without any, it is the sample's mean and variances."""
    settings = {"block_size": SIZE, "warm_up": first}
    yield LowRankGaussian(rows.mean(axis=0), np.zeros((D, 0)), rows.var(axis=0))
    for K in range(1, MOST + 1):
        yield RecursiveEM(K, **settings).fit(rows).gaussian()


def log_densities(learned, predicted, first=SIZE):
    return np.array(
        [
            multivariate_normal(gaussian.mean, gaussian.covariance()).logpdf(predicted).sum()
            for gaussian in side_by_side(learned, first)
        ]
    )


@pytest.mark.slow
def test_the_number_of_factors_with_the_best_predictions_is_chosen():
    rows = np.vstack([clear(0).sample(200, 2), clear(3).sample(200, 3)])
    selection = ComponentSelection([RecursiveModel(np.empty((D, K)), 5) for K in range(MOST + 1)])
    selection.absorb(rows[:SIZE])
    settings = {"block_size": SIZE, "warm_up": SIZE, "max_components": MOST}
    auto = RecursiveEM("auto", **settings).fit(rows[:SIZE])
    even, odd = rows[:SIZE:2], rows[1:SIZE:2]
    both_ways = log_densities(even, odd, SIZE // 2) + log_densities(odd, even, SIZE // 2)
    predictions = np.sqrt(SIZE) * both_ways
    chosen = []
    for seen in range(SIZE, len(rows), SIZE):
        block, now = rows[seen : seen + SIZE], seen + SIZE
        # Each prediction is weighted with the root of the number of rows seen by then.
        predictions += np.sqrt(now) * log_densities(rows[:seen], block)
        selection.absorb(block)
        np.testing.assert_allclose(selection.scores, predictions / np.sqrt(now), rtol=1e-9)
        chosen.append(int(np.argmax(predictions)))
        expected = list(side_by_side(rows[:now]))[chosen[-1]].covariance()
        found = auto.partial_fit(block).get_covariance()
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert chosen[0] == 0
    assert chosen[-1] >= 3  # a further factor may describe the changed mean


@pytest.mark.slow
@pytest.mark.parametrize("K", [0, 2, 4])
def test_the_true_number_of_factors_is_found_in_any_units(K):
    rows = clear(K).sample(5000, 4)
    for scale in (1, np.geomspace(1e-3, 1e3, D)):
        model = RecursiveEM("auto", max_components=7).fit(rows * scale)
        assert model.gaussian().rank == K


@pytest.mark.slow
def test_a_constant_column_does_not_change_the_estimate_of_the_others():
    rows = clear(2).sample(1000, 5)
    held = np.column_stack([rows, np.full(len(rows), 3.0)])
    settings = {"n_components": "auto", "max_components": MOST}
    expected = RecursiveEM(**settings).fit(rows).get_covariance()
    model = RecursiveEM(**settings).fit(held)
    assert model.gaussian().rank == 2
    np.testing.assert_allclose(model.get_covariance()[:D, :D], expected, rtol=1e-6)
    assert not model.get_covariance()[D].any()


@pytest.mark.parametrize("n_components", [2, pytest.param("auto", marks=pytest.mark.slow)])
@pytest.mark.parametrize("window", [730, 10**9])
def test_a_window_longer_than_the_stream_changes_no_bit(n_components, window):
    settings = {"n_components": n_components, "max_components": 4}
    rows = clear(2).sample(730, 10)
    model, other = (RecursiveEM(forgetting=W, **settings).fit(rows) for W in (None, window))
    for name in ("mean_", "components_", "noise_variance_"):
        assert np.array_equal(getattr(model, name), getattr(other, name))


@pytest.mark.slow
def test_rows_older_than_ten_windows_have_little_influence():
    W, before, after = 500, clear(2), clear(2, seed=11)
    recent = after.sample(10 * W, 12)
    rows = np.vstack([before.sample(2000, 13), recent])
    forgetting = RecursiveEM(2, forgetting=W)
    found, alone = (forgetting.fit(X).gaussian() for X in (rows, recent))
    assert alone.relative_frobenius(found) < 0.01
    # Weights that fall by exp(-1) over W rows average as well as 2 W rows of equal weight.
    best = after.relative_frobenius(BatchML(2).fit(recent[-2 * W :]).gaussian())
    plain = after.relative_frobenius(RecursiveEM(2).fit(rows).gaussian())
    assert after.relative_frobenius(found) < 2 * best < plain


@pytest.mark.parametrize("seed", [0, 2])
def test_strong_factors_are_close_to_maximum_likelihood(seed):
    truth = clear(2, seed, strength=3)
    rows = truth.sample(10_000, seed)
    error, best = (
        truth.relative_frobenius(model.fit(rows).gaussian())
        for model in (RecursiveEM(2), BatchML(2))
    )
    assert error < 1.2 * best
