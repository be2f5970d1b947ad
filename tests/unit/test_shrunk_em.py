"""Shrunk EM: how much of each factor is confirmed, by dense matrices; few rows and many."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from onlinefa import BatchML, Diagonal, LowRankGaussian, RecursiveEM, ShrunkEM
from onlinefa.estimators.base import orthonormal_factors
from onlinefa.models.factor_model import generate

D, K, FIRST, BLOCK = 9, 3, 41, 30
RANDOM = np.random.default_rng(0)
FACTORS = RANDOM.normal(size=(D, K)) * [1.5, 0.6, 0.2]
ROWS = LowRankGaussian(RANDOM.normal(size=D), FACTORS, RANDOM.uniform(0.5, 2, D)).sample(200, 1)
Q = orthonormal_factors(RANDOM.normal(size=(D, K)))
SETTINGS = {"n_components": K, "block_size": BLOCK, "init_factors": Q}


def learned(rows, first=FIRST):
    return RecursiveEM(**SETTINGS, warm_up=first).fit(rows).gaussian()


def whitened(gaussian, matrix):
    return matrix / np.sqrt(np.outer(gaussian.noise, gaussian.noise))


def eigen(gaussian):
    """Variances of the factors in units of the noise, the largest first, and their directions."""
    values, vectors = np.linalg.eigh(whitened(gaussian, gaussian.factors @ gaussian.factors.T))
    return values[::-1][:K], vectors[:, ::-1][:, :K]


def held_against(gaussian, rows):
    """The excess variance that a model promises rows along its factors, what they have in units of
    their variance elsewhere, and how many rows these are."""
    n, (values, U) = len(rows), eigen(gaussian)
    scatter = whitened(gaussian, (rows - gaussian.mean).T @ (rows - gaussian.mean))
    elsewhere = np.trace(scatter @ (np.eye(D) - U @ U.T)) / (n * (D - K))
    seen = np.diag(U.T @ scatter @ U) / elsewhere - n
    return np.array([n * values, seen, np.full(K, n)])


def dense(ends):
    """The covariance after blocks that end there, and how much of each factor is confirmed."""
    even, odd = ROWS[: ends[0] : 2], ROWS[1 : ends[0] : 2]
    total = held_against(learned(even, len(even)), odd) + held_against(learned(odd, len(odd)), even)
    total *= ends[0] ** 2  # weights are squares of the numbers of rows
    for before, end in pairwise(ends):
        total += end**2 * held_against(learned(ROWS[:before]), ROWS[before:end])
    gaussian = learned(ROWS[: ends[-1]])
    values, U = eigen(gaussian)
    promised, seen, weight = total
    confirmed = np.where(promised < 0.1 * weight * values, 0, np.clip(seen / promised, 0, 1))
    # Twice what theory expects: the eigenvalue too large, and its direction's too small.
    excess = 2 * D * (1 + values) / (ends[-1] * values)
    confirmed = np.maximum(confirmed, 1 - 2 * excess / values)
    units = np.diag(np.sqrt(gaussian.noise))
    covariance = units @ U @ np.diag(values * confirmed) @ U.T @ units
    np.fill_diagonal(covariance, ROWS[: ends[-1]].var(axis=0))
    return covariance, confirmed


@pytest.mark.parametrize("blocks", [1, 2, 4])
@pytest.mark.parametrize("waiting", [0, 7])
def test_factors_are_shrunk_by_what_the_next_rows_confirm(blocks, waiting):
    ends = [FIRST + BLOCK * n for n in range(blocks)]
    ends += [ends[-1] + waiting] * (waiting > 0)
    model = ShrunkEM(**SETTINGS, warm_up=FIRST).fit(ROWS[: ends[-1]])
    covariance, confirmed = dense(ends)
    np.testing.assert_allclose(model.get_covariance(), covariance, rtol=1e-8, atol=1e-10)
    assert ((confirmed > 0.05) & (confirmed < 0.95)).any()  # something is shrunk, not all of it


@pytest.mark.parametrize("n", [2, 3, FIRST, 100, 200])
def test_variances_and_the_mean_stay(n):
    gaussian = ShrunkEM(**SETTINGS, warm_up=FIRST).fit(ROWS[:n]).gaussian()
    np.testing.assert_array_equal(gaussian.mean, learned(ROWS[:n]).mean)
    np.testing.assert_allclose(gaussian.variances, ROWS[:n].var(axis=0), rtol=1e-12)


@pytest.mark.parametrize("T", [100, 150, 1000])
def test_of_pure_noise_little_is_left_in_the_factors(T):
    rows = np.random.default_rng(3).normal(size=(T, 40))
    model, plain = (algorithm(3, random_state=0).fit(rows) for algorithm in (ShrunkEM, RecursiveEM))
    assert np.sum(model.components_**2) < np.sum(plain.components_**2) / 3


def test_with_many_rows_it_is_recursive_em():
    rows = LowRankGaussian(np.zeros(D), np.eye(D)[:, :K] + 1, np.ones(D)).sample(20_000, 4)
    model, plain = (algorithm(K, random_state=0).fit(rows) for algorithm in (ShrunkEM, RecursiveEM))
    assert plain.gaussian().relative_frobenius(model.gaussian(), off_diagonal=True) < 0.02


@pytest.mark.parametrize(
    ("dimension", "K", "tolerance"), [(10, 2, 1.1), (20, 10, 1.1), (100, 10, 1.05)]
)
def test_it_is_never_much_worse_than_the_better_of_no_factors_and_maximum_likelihood(
    dimension, K, tolerance
):
    sizes = (5, 10, 20, 50, 150, 1000, 2000)
    errors = np.zeros((3, len(sizes)))
    for seed in range(6):
        truth = generate(dimension, K, (1, 100), np.random.default_rng(seed))
        rows = truth.sample(sizes[-1], 100 + seed)
        for model, error in zip(
            (ShrunkEM(K, random_state=0), Diagonal(), BatchML(K)), errors, strict=True
        ):
            error += [truth.relative_frobenius(model.fit(rows[:n]).gaussian()) for n in sizes]
    assert (errors[0] < tolerance * errors[1:].min(axis=0)).all()
