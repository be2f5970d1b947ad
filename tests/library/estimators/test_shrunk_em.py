"""Tests of shrunk EM against dense matrices, with few rows and with many."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from support.factor_models import make_factor_model

from onlinefa import BatchML, Diagonal, LowRankGaussian, RecursiveEM, ShrunkEM

pytestmark = pytest.mark.slow  # fits to many rows

D, K, FIRST, BLOCK = 20, 3, 41, 30
RANDOM = np.random.default_rng(0)
FACTORS = RANDOM.normal(size=(D, K)) * [1.5, 0.6, 0.2]
ROWS = LowRankGaussian(RANDOM.normal(size=D), FACTORS, RANDOM.uniform(0.5, 2, D)).sample(200, 1)
SETTINGS = {"n_components": K, "block_size": BLOCK}


def learned(rows, first=FIRST):
    return RecursiveEM(**SETTINGS, warm_up=first).fit(rows).gaussian()


def whitened(gaussian, matrix):
    return matrix / np.sqrt(np.outer(gaussian.noise, gaussian.noise))


def eigen(gaussian):
    """Variances of the factors in units of the noise, the largest first, and their directions."""
    values, vectors = np.linalg.eigh(whitened(gaussian, gaussian.factors @ gaussian.factors.T))
    return values[::-1][:K], vectors[:, ::-1][:, :K]


def compare_with_rows(gaussian, rows):
    """Return the excess variance along the factors, summed over rows, and the number of rows.

    The first line is the excess variance of the model, the second that of the rows, in units of
    their variance orthogonal to the factors.
    """
    n, (values, U) = len(rows), eigen(gaussian)
    scatter = whitened(gaussian, (rows - gaussian.mean).T @ (rows - gaussian.mean))
    elsewhere = np.trace(scatter @ (np.eye(D) - U @ U.T)) / (n * (D - K))
    seen = np.diag(U.T @ scatter @ U) / elsewhere - n
    return np.array([n * values, seen, np.full(K, n)])


def dense(ends):
    """Return the covariance after blocks with these ends, and the confirmed shares of factors."""
    even, odd = ROWS[: ends[0] : 2], ROWS[1 : ends[0] : 2]
    total = compare_with_rows(learned(even, len(even)), odd) + compare_with_rows(
        learned(odd, len(odd)), even
    )
    total *= ends[0] ** 2  # weights are squares of the numbers of rows
    for before, end in pairwise(ends):
        total += end**2 * compare_with_rows(learned(ROWS[:before]), ROWS[before:end])
    gaussian = learned(ROWS[: ends[-1]])
    values, U = eigen(gaussian)
    promised, seen, weight = total
    confirmed = np.where(promised < 0.1 * weight * values, 0, np.clip(seen / promised, 0, 1))
    # Twice the expected errors: eigenvalues are overestimated, variances of rows along their
    # directions underestimated.
    excess = 2 * D * (1 + values) / (ends[-1] * values)
    confirmed = np.maximum(confirmed, 1 - 2 * excess / values)
    units = np.diag(np.sqrt(gaussian.noise))
    covariance = units @ U @ np.diag(values * confirmed) @ U.T @ units
    np.fill_diagonal(covariance, ROWS[: ends[-1]].var(axis=0))
    return covariance, confirmed


@pytest.mark.parametrize("blocks", [1, 2, 4])
@pytest.mark.parametrize("waiting", [0, 7])
def test_factors_are_shrunk_to_the_share_confirmed_by_later_rows(blocks, waiting):
    ends = [FIRST + BLOCK * n for n in range(blocks)]
    ends += [ends[-1] + waiting] * (waiting > 0)
    model = ShrunkEM(**SETTINGS, warm_up=FIRST).fit(ROWS[: ends[-1]])
    covariance, confirmed = dense(ends)
    np.testing.assert_allclose(model.get_covariance(), covariance, rtol=1e-8, atol=1e-10)
    assert ((confirmed > 0.05) & (confirmed < 0.95)).any()  # some factors are partly shrunk


@pytest.mark.parametrize("n", [2, 3, FIRST, 100, 200])
def test_shrinking_keeps_the_mean_and_the_variances(n):
    gaussian = ShrunkEM(**SETTINGS, warm_up=FIRST).fit(ROWS[:n]).gaussian()
    np.testing.assert_array_equal(gaussian.mean, learned(ROWS[:n]).mean)
    np.testing.assert_allclose(gaussian.variances, ROWS[:n].var(axis=0), rtol=1e-12)


@pytest.mark.parametrize("T", [100, 150, 1000])
def test_factors_of_pure_noise_are_shrunk_to_less_than_a_third(T):
    rows = np.random.default_rng(3).normal(size=(T, 40))
    model, plain = (algorithm(3).fit(rows) for algorithm in (ShrunkEM, RecursiveEM))
    assert np.sum(model.components_**2) < np.sum(plain.components_**2) / 3


def test_shrunk_em_is_close_to_recursive_em_with_many_rows():
    rows = LowRankGaussian(np.zeros(D), np.eye(D)[:, :K] + 1, np.ones(D)).sample(20_000, 4)
    model, plain = (algorithm(K).fit(rows) for algorithm in (ShrunkEM, RecursiveEM))
    assert plain.gaussian().relative_frobenius(model.gaussian(), off_diagonal=True) < 0.02


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dimension", "K", "tolerance"), [(10, 2, 1.1), (20, 10, 1.1), (100, 10, 1.05)]
)
def test_error_is_close_to_the_better_of_no_factors_and_maximum_likelihood(dimension, K, tolerance):
    sizes = (5, 10, 20, 50, 150, 1000, 2000)
    errors = np.zeros((3, len(sizes)))
    for seed in range(6):
        truth = make_factor_model(dimension, K, (1, 100), np.random.default_rng(seed))
        rows = truth.sample(sizes[-1], 100 + seed)
        for model, error in zip((ShrunkEM(K), Diagonal(), BatchML(K)), errors, strict=True):
            error += [truth.relative_frobenius(model.fit(rows[:n]).gaussian()) for n in sizes]
    assert (errors[0] < tolerance * errors[1:].min(axis=0)).all()
