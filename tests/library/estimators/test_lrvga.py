"""Tests of L-RVGA against dense matrices and the likelihood of its target."""

from __future__ import annotations

import numpy as np
import pytest

from onlinefa import LRVGA

D, K, T = 6, 2, 50
RANDOM = np.random.default_rng(0)
SIGNAL = RANDOM.normal(size=(T, K)) @ RANDOM.normal(size=(K, D))
ROWS = np.geomspace(0.3, 5, D) * (SIGNAL + RANDOM.normal(size=(T, D)) + 2)
Q = np.linalg.qr(RANDOM.normal(size=(D, K)))[0]


def target(covariance, old, total):
    """Return S: the scatter that rows add to that of the old ones, which the model replaces."""
    added = sum(sign * n * np.cov(ROWS[:n].T, bias=True) for sign, n in ((1, total), (-1, old)))
    return (added + old * covariance) / total


def dense(block_size, inner_steps):
    """Run EM with D x D matrices after the first row, which determines the mean only."""
    F, psi, old = Q, np.ones(D), 1
    while old < T:
        total = min(old + block_size, T)
        S = target(F @ F.T + np.diag(psi), old, total)
        for _ in range(inner_steps):
            beta = F.T @ np.linalg.inv(F @ F.T + np.diag(psi))
            F = S @ beta.T @ np.linalg.inv(np.eye(K) - beta @ F + beta @ S @ beta.T)
            psi = np.diag(S - F @ beta @ S)
        old = total
    return F @ F.T + np.diag(psi)


@pytest.mark.parametrize(("block_size", "inner_steps"), [(1, 10), (1, 1), (7, 3)])
def test_lrvga_equals_the_dense_computation(block_size, inner_steps):
    model = LRVGA(K, block_size=block_size, inner_steps=inner_steps, init_factors=Q).fit(ROWS)
    np.testing.assert_allclose(model.mean_, ROWS.mean(axis=0), rtol=1e-12)
    expected = dense(block_size, inner_steps)
    np.testing.assert_allclose(model.get_covariance(), expected, rtol=1e-8, atol=1e-8)


def test_a_step_does_not_lower_the_expected_log_likelihood_of_its_target():
    def expect(S, covariance):
        return -np.linalg.slogdet(covariance)[1] - np.trace(np.linalg.solve(covariance, S))

    model = LRVGA(K, inner_steps=1, init_factors=Q).fit(ROWS[:2])
    for t in range(3, T + 1):
        before = model.get_covariance()
        after = model.partial_fit(ROWS[t - 1 : t]).get_covariance()
        S = target(before, t - 1, t)
        assert expect(S, after) > expect(S, before)


def test_noise_is_positive_where_it_is_smaller_than_a_rounding_error_of_the_variances():
    assert (LRVGA(K, init_factors=Q).fit(ROWS[:2] * 1e8).noise_variance_ > 0).all()
