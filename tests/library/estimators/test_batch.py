"""Tests of the batch estimators against scikit-learn and against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import FactorAnalysis
from sklearn.exceptions import ConvergenceWarning
from support.factor_models import make_factor_model

from onlinefa import BatchML, BatchSVD, Diagonal
from onlinefa.estimators.batch_ml import _profile


@pytest.fixture(scope="module")
def rows():
    truth = make_factor_model(12, 3, (1, 10), np.random.default_rng(3))
    return truth.sample(400, 4)


@pytest.mark.parametrize("number", [20, 24, 25, 400])
def test_batch_svd_equals_scikit_learn(rows, number):
    """This includes streams that are replaced by 2 D = 24 equivalent rows."""
    ours = BatchSVD(n_components=3).fit(rows[:number])
    theirs = FactorAnalysis(3, svd_method="randomized").fit(rows[:number])
    np.testing.assert_allclose(ours.mean_, theirs.mean_, rtol=1e-12)
    np.testing.assert_allclose(ours.get_covariance(), theirs.get_covariance(), rtol=1e-10)


def test_diagonal_is_the_sample_variance(rows):
    np.testing.assert_allclose(Diagonal().fit(rows).noise_variance_, rows.var(axis=0), rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_batch_ml_reaches_the_likelihood_of_a_slow_exact_fit(rows, scale):
    slow = FactorAnalysis(3, svd_method="lapack", tol=1e-12, max_iter=20000).fit(rows)
    # Data times a moves the log-likelihood of every row by -D log a.
    expected = slow.score(rows) - rows.shape[1] * np.log(scale)
    assert BatchML(n_components=3).fit(rows * scale).score(rows * scale) >= expected - 1e-7


def test_batch_ml_is_a_fixed_point_of_expectation_maximisation(rows):
    model = BatchML(n_components=3, tolerance=1e-9).fit(rows)
    F, psi = model.components_.T, model.noise_variance_
    centred = rows - rows.mean(axis=0)
    S = centred.T @ centred / len(rows)
    Sigma = np.linalg.inv(np.eye(3) + F.T @ (F / psi[:, None]))
    m = centred @ (F / psi[:, None]) @ Sigma
    A, H = centred.T @ m / len(rows), Sigma + m.T @ m / len(rows)
    again = A @ np.linalg.inv(H)
    np.testing.assert_allclose(again, F, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(np.diag(S - again @ A.T), psi, rtol=1e-4)


def test_the_gradient_of_the_profile_likelihood_is_correct(rows):
    S = np.corrcoef(rows.T)
    log_noise = np.random.default_rng(0).uniform(-2, -0.1, len(S))
    gradient = _profile(S, 3, log_noise)[1]
    step = 1e-6
    for d in range(len(S)):
        shift = step * np.eye(len(S))[d]
        slope = _profile(S, 3, log_noise + shift)[0] - _profile(S, 3, log_noise - shift)[0]
        assert slope / (2 * step) == pytest.approx(gradient[d], abs=1e-7)


def test_the_profile_likelihood_is_the_likelihood_at_its_factors(rows):
    S = np.corrcoef(rows.T)
    D = len(S)
    log_noise = np.random.default_rng(0).uniform(-2, -0.1, D)
    objective, _, factors = _profile(S, 3, log_noise)
    covariance = factors @ factors.T + np.diag(np.exp(log_noise))
    dense = np.linalg.slogdet(covariance)[1] + np.trace(np.linalg.solve(covariance, S))
    # The constant D log(2 pi) is left out of both.
    assert objective == pytest.approx(dense / 2, rel=1e-12)


@pytest.mark.slow
def test_the_solver_for_large_problems_gives_the_same_result():
    truth = make_factor_model(250, 2, (1, 10), np.random.default_rng(0))
    rows = truth.sample(600, 1)
    slow = FactorAnalysis(2, svd_method="lapack", tol=1e-10, max_iter=5000).fit(rows)
    assert BatchML(n_components=2).fit(rows).score(rows) >= slow.score(rows) - 1e-6


def test_batch_ml_warns_if_it_has_not_converged(rows):
    with pytest.warns(ConvergenceWarning, match="maximum likelihood"):
        BatchML(n_components=3, max_iterations=1).fit(rows).gaussian()
