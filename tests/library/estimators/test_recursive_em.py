"""Tests of recursive EM against dense matrices and maximum likelihood, and in other units."""

from __future__ import annotations

import math
from hashlib import sha256

import numpy as np
import pytest
from support.factor_models import make_factor_model

from onlinefa import BatchML, LowRankGaussian, OnlineEM, OnlineSGA, RecursiveEM
from onlinefa.estimators import _block_em
from onlinefa.estimators._initial_factors import orthonormal_factors

D, K = 12, 3


@pytest.fixture(scope="module")
def truth():
    return make_factor_model(D, K, (1, 100), np.random.default_rng(0))


@pytest.fixture(scope="module")
def rows(truth):
    return truth.sample(2000, 1)


@pytest.fixture(scope="module")
def Q():
    return orthonormal_factors(np.random.default_rng(2).normal(size=(D, K)))


def start(S):
    """Compute factors by probabilistic PCA of the correlations, and noise from the variances."""
    deviations = np.sqrt(np.diag(S))
    values, V = np.linalg.eigh(S / np.outer(deviations, deviations))
    noise = values[:-K].mean()
    F = deviations[:, None] * V[:, -K:] * np.sqrt(values[-K:] - noise)
    return F, np.diag(S - F @ F.T)


def dense(rows, blocks, inner_steps, window=math.inf):
    """Run recursive EM with D x D matrices: parameter-expanded EM on the S of every block."""
    seen, mean = 0, np.zeros(D)
    for size in blocks:
        block, rows = rows[:size], rows[size:]
        seen = min(seen, window - size)
        total = seen + size
        own = np.cov(block.T, bias=True)
        shift = block.mean(axis=0) - mean
        between = seen * size / total**2 * np.outer(shift, shift)
        if seen == 0:
            S = own
            F, psi = start(S)
            psi = np.maximum(psi, min(0.5, 40 / total) * np.diag(S))
        else:
            S = size / total * own + between + seen / total * (F @ F.T + np.diag(psi))
        for _ in range(math.ceil(inner_steps * max(1, 40 * size / total))):
            precision = np.linalg.inv(F @ F.T + np.diag(psi))
            beta = F.T @ precision
            second = np.eye(K) - beta @ F + beta @ S @ beta.T  # E[z z']
            F = S @ beta.T @ np.linalg.inv(second) @ np.linalg.cholesky(second)
            psi = np.maximum(np.diag(S - F @ F.T), min(0.5, 40 / total) * np.diag(S))
        mean, seen = mean + shift * size / total, total
    return mean, F @ F.T + np.diag(psi)


def test_recursive_em_equals_the_dense_computation(rows):
    model = RecursiveEM(K, block_size=70, inner_steps=3, warm_up=50)
    model.fit(rows[: 50 + 70 * 4 + 23])  # the last 23 rows form an incomplete block
    mean, covariance = dense(rows, [50, 70, 70, 70, 70, 23], 3)
    np.testing.assert_allclose(model.mean_, mean, rtol=1e-12)
    np.testing.assert_allclose(model.get_covariance(), covariance, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("blocks", [[100, 60, 60, 60], [100, 60, 60, 13]])
def test_forgetting_equals_the_dense_computation_with_a_window(rows, blocks):
    settings = {"block_size": 60, "warm_up": 100, "inner_steps": 3, "forgetting": 150}
    model = RecursiveEM(K, **settings).fit(rows[: sum(blocks)])
    mean, covariance = dense(rows, blocks, 3, window=150)
    np.testing.assert_allclose(model.mean_, mean, rtol=1e-10)
    np.testing.assert_allclose(model.get_covariance(), covariance, rtol=1e-8, atol=1e-8)


@pytest.mark.slow
def test_many_steps_on_one_block_give_maximum_likelihood(truth):
    # The noise is large enough to be distinguished from zero with 2000 rows.
    rows = LowRankGaussian(truth.mean, truth.factors, truth.variances / 4).sample(2000, 1)
    model = RecursiveEM(K, warm_up=len(rows), inner_steps=100).fit(rows)
    best = BatchML(K).fit(rows)
    assert model.score(rows) == pytest.approx(best.score(rows), abs=1e-6)


@pytest.mark.parametrize("spectrum", [(1, 10), (1, 10000)])
def test_recursive_em_is_closer_to_maximum_likelihood_than_online_em(spectrum):
    truth = make_factor_model(40, 5, spectrum, np.random.default_rng(3))
    sample = truth.sample(5000, 4)
    error, best, online = (
        truth.relative_frobenius(model.fit(sample).gaussian())
        for model in (RecursiveEM(5), BatchML(5), OnlineEM(5, random_state=0))
    )
    assert error < 1.1 * best
    if spectrum == (1, 10000):
        assert online > 3 * best


SCALES = {"all": np.full(D, 1e3), "tiny": np.full(D, 1e-3), "each": np.geomspace(1e-4, 1e4, D)}


@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
def test_estimates_are_equivariant_to_units(rows, scale):
    model, other = (RecursiveEM(K).fit(X) for X in (rows, rows * scale))
    np.testing.assert_allclose(other.components_, model.components_ * scale, rtol=1e-6)
    np.testing.assert_allclose(other.noise_variance_, model.noise_variance_ * scale**2, rtol=1e-6)


def test_a_shift_changes_only_the_mean(rows):
    model, other = (RecursiveEM(K).fit(X) for X in (rows, rows + 1e3))
    np.testing.assert_allclose(other.mean_, model.mean_ + 1e3)
    np.testing.assert_allclose(other.get_covariance(), model.get_covariance(), rtol=1e-6)


@pytest.mark.parametrize("algorithm", [OnlineEM, OnlineSGA])
def test_the_algorithms_of_the_thesis_depend_on_units(rows, Q, algorithm):
    """Both algorithms start from unit noise, regardless of the units of the data."""
    model, other = (algorithm(K, init_factors=Q).fit(X) for X in (rows, rows * 1e-3))
    ratio = other.get_covariance() / 1e-6 / model.get_covariance()
    assert np.abs(ratio - 1).max() > 0.5


def test_a_constant_column_has_no_variance_and_does_not_affect_others(rows):
    held = np.column_stack([rows, np.full(len(rows), 7.0)])
    model = RecursiveEM(K).fit(held)
    expected = RecursiveEM(K).fit(rows).get_covariance()
    np.testing.assert_allclose(model.get_covariance()[:D, :D], expected, rtol=1e-6)
    assert not model.get_covariance()[D].any()


@pytest.mark.slow
def test_noise_that_is_underestimated_at_first_is_recovered(monkeypatch):
    """In a model of Figure 5.1, the first rows explain one column by a factor of its own."""

    def random(role):
        """Return the generator that the benchmark uses for this role."""
        words = ("synthetic", "D~100/K~10/spectrum~1-100", role)
        numbers = [sha256(word.encode()).digest()[:8] for word in words]
        entropy = [2021, 5, *(int.from_bytes(number, "big") for number in numbers)]
        return np.random.default_rng(np.random.SeedSequence(entropy))

    truth = make_factor_model(100, 10, (1, 100), random("model"))
    sample = truth.sample(20_000, random("data"))

    def error(model):
        return truth.relative_frobenius(model.fit(sample).gaussian())

    best = error(BatchML(10))
    assert error(RecursiveEM(10)) < 1.1 * best
    monkeypatch.setattr(_block_em, "_ROWS_OF_NOISE", 0)
    assert error(RecursiveEM(10)) > 1.5 * best


@pytest.mark.slow
def test_error_with_few_columns_and_many_rows_is_close_to_maximum_likelihood():
    errors = []
    for seed in range(8):
        truth = make_factor_model(10, 2, (1, 100), np.random.default_rng(seed))
        sample = truth.sample(5000, seed)
        errors.append(
            [
                truth.relative_frobenius(model.fit(sample).gaussian())
                for model in (RecursiveEM(2), BatchML(2))
            ]
        )
    mean, best = np.mean(errors, axis=0)
    assert mean < 1.1 * best


@pytest.mark.parametrize("value", [7.0, 0.1, 1 / 3])
@pytest.mark.parametrize("K", [2, "auto"])
def test_constant_columns_have_no_factor(value, K):
    """Deviations from the rounded mean of 0.1, 0.1, ... are all the same, and not zero."""
    factors = np.random.default_rng(4).normal(size=(15, 2))
    truth = LowRankGaussian(np.zeros(15), factors, np.ones(15))
    held = np.column_stack([truth.sample(1000, 0), np.full((1000, 3), value)])
    model = RecursiveEM(K, max_components=5).fit(held)
    assert model.gaussian().rank == 2
    assert not model.get_covariance()[15:].any()


@pytest.mark.parametrize("n", [5, 8])
def test_fewer_rows_than_factors_give_equal_results_in_float32_and_float64(n):
    # A factor that the rows do not determine has 1e-5 of the variance of the others.
    rows = np.random.default_rng(0).standard_normal((n, 50_000), dtype=np.float32)
    single, double = (
        RecursiveEM(n_components=8, warm_up=n, inner_steps=1).fit(rows.astype(dtype)).gaussian()
        for dtype in (np.float32, np.float64)
    )
    assert double.relative_frobenius(single) < 1e-3
