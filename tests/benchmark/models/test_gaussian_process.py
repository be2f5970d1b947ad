"""Tests of Gaussian processes against scikit-learn's, against weight space, and with bad input."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from scipy.special import erf
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Kernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from support.regressions import curve_table

from onlinefa_benchmark.models.covariance import Linear, NeuralNetwork, SquaredExponential
from onlinefa_benchmark.models.gaussian_process import (
    Bounds,
    GaussianProcess,
    NotPositiveDefinite,
    cholesky,
    fit_most_likely,
)

COVARIANCES = [SquaredExponential(1.3, 0.7), Linear(0.8), NeuralNetwork(1.4, 1.2, 0.5)]

NOISE = 0.04


@pytest.fixture(scope="module")
def table():
    return curve_table()


class OfTheNetwork(Kernel):
    """The network's covariance as a kernel of scikit-learn, entry by entry."""

    def __init__(self, covariance):
        self.covariance = covariance

    def __call__(self, X, Y=None, eval_gradient=False):
        return np.array([[self._entry(x, y) for y in (X if Y is None else Y)] for x in X])

    def _entry(self, x, y):
        own = self.covariance
        x, y = np.sqrt(2) * own.sigma_w * x, np.sqrt(2) * own.sigma_w * y
        sine = x @ y / np.sqrt((1 + x @ x) * (1 + y @ y))
        return own.sigma_b**2 + own.omega**2 * 2 / np.pi * np.arcsin(sine)

    def diag(self, X):
        return np.array([self._entry(x, x) for x in X])

    def is_stationary(self):
        return False


def of_scikit_learn(covariance):
    if isinstance(covariance, SquaredExponential):
        return ConstantKernel(covariance.amplitude**2) * RBF(covariance.length)
    if isinstance(covariance, Linear):
        return ConstantKernel(covariance.sigma**2) * DotProduct(sigma_0=1e-9)
    return OfTheNetwork(covariance)


@pytest.mark.parametrize("covariance", COVARIANCES, ids=lambda own: type(own).__name__)
def test_predictions_and_likelihood_equal_scikit_learn(covariance, table):
    X, y, asked = table
    oracle = GaussianProcessRegressor(of_scikit_learn(covariance), alpha=NOISE, optimizer=None)
    mean, sd = oracle.fit(X, y).predict(asked, return_std=True)
    process = GaussianProcess(X, y, covariance, NOISE)
    found_mean, found_variance = process.predict(asked)
    np.testing.assert_allclose(found_mean, mean, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(np.sqrt(found_variance), sd, rtol=1e-6)
    expected = oracle.log_marginal_likelihood_value_
    assert process.log_marginal_likelihood == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(covariance.diagonal(asked), np.diag(covariance(asked, asked)))


@pytest.mark.parametrize("covariance", COVARIANCES, ids=lambda own: type(own).__name__)
def test_the_gradient_equals_finite_differences_of_the_likelihood(covariance, table):
    X, y, _ = table
    at = np.array([*covariance.logarithms(), np.log(NOISE) / 2])

    def likelihood(logarithms):
        of = type(covariance).of_logarithms(logarithms[:-1])
        return GaussianProcess(X, y, of, np.exp(2 * logarithms[-1])).log_marginal_likelihood

    step = 1e-5
    slopes = [
        (likelihood(at + step * axis) - likelihood(at - step * axis)) / (2 * step)
        for axis in np.eye(len(at))
    ]
    gradient = GaussianProcess(X, y, covariance, NOISE).gradient()
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-6)


def test_weight_space_and_function_space_give_equal_predictions(table):
    """A linear regression with the prior N(0, sigma^2 I) has the covariance sigma^2 x'x."""
    X, y, asked = table
    sigma = 0.8
    A = X.T @ X / NOISE + np.eye(4) / sigma**2
    mean, variance = GaussianProcess(X, y, Linear(sigma), NOISE).predict(asked)
    np.testing.assert_allclose(mean, asked @ np.linalg.solve(A, X.T @ y / NOISE))
    np.testing.assert_allclose(variance, np.sum(asked * np.linalg.solve(A, asked.T).T, axis=1))


def test_the_mean_equals_kernel_ridge_regression(table):
    X, y, asked = table
    covariance = SquaredExponential(1, 1.5)
    ridge = KernelRidge(alpha=NOISE, kernel="rbf", gamma=1 / (2 * 1.5**2)).fit(X, y)
    mean, _ = GaussianProcess(X, y, covariance, NOISE).predict(asked)
    np.testing.assert_allclose(mean, ridge.predict(asked))


def test_the_networks_covariance_equals_that_of_its_prior(table):
    """k_NN is the mean of erf(w'x) erf(w'x') over w, within four of its standard errors."""
    X = table[0][:4]
    covariance = NeuralNetwork(1.4, 1.2, 0.5)
    units = erf(1.4 * np.random.default_rng(1).normal(size=(200_000, 4)) @ X.T)
    products = units[:, :, None] * units[:, None, :]
    mean, error = products.mean(axis=0), products.std(axis=0) / np.sqrt(len(units))
    expected = (covariance(X, X) - 0.5**2) / 1.2**2
    assert np.all(np.abs(mean - expected) < 4 * error)


def test_scikit_learn_finds_no_more_likely_parameters(table):
    X, y, _ = table
    kernel = ConstantKernel(1, (0.01, 100)) * RBF(1, (0.1, 10)) + WhiteKernel(0.1, (1e-4, 1))
    oracle = GaussianProcessRegressor(kernel, alpha=0, n_restarts_optimizer=5, random_state=0)
    best = oracle.fit(X, y).log_marginal_likelihood_value_
    found = fit_most_likely(X, y, SquaredExponential, np.random.default_rng(0))
    assert found.log_marginal_likelihood == pytest.approx(best, abs=1e-4)
    amplitude, length, noise = np.exp(oracle.kernel_.theta)
    assert found.covariance.amplitude**2 == pytest.approx(amplitude, rel=1e-2)
    assert found.covariance.length == pytest.approx(length, rel=1e-2)
    assert found.noise == pytest.approx(noise, rel=1e-2)


def test_parameters_stay_within_bounds(table):
    X, y, _ = table
    bounds = Bounds(lower=0.5, upper=0.6, least_noise=0.3, most_noise=0.4)
    found = fit_most_likely(X, y, NeuralNetwork, np.random.default_rng(0), 2, bounds)
    assert all(0.499 < value < 0.601 for value in np.exp(found.covariance.logarithms()))
    assert 0.299 < np.sqrt(found.noise) < 0.401


def test_jitter_is_added_if_necessary_and_logged(caplog):
    twice = np.ones((2, 2))
    with caplog.at_level(logging.WARNING):
        cholesky(np.eye(2))
        assert not caplog.records
        L = cholesky(twice)
    np.testing.assert_allclose(L @ L.T, twice, atol=1e-6)
    assert "jitter" in caplog.text


@pytest.mark.parametrize(
    ("matrix", "message"),
    [(np.diag([1.0, -1.0]), "is not positive"), (np.full((2, 2), np.nan), "has NaN or infinite")],
)
def test_a_matrix_that_is_not_positive_definite_with_jitter_is_refused(matrix, message):
    with pytest.raises(NotPositiveDefinite, match=f"a kernel matrix of 2 points {message}"):
        cholesky(matrix)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.ones((1, 1)), np.ones(1), "two training points, got 1"),
        (np.full((3, 1), np.nan), np.ones(3), "NaN or infinite"),
        (np.ones((3, 1)), np.array([1, np.inf, 2]), "NaN or infinite"),
    ],
)
def test_bad_training_points_are_refused(X, y, message):
    with pytest.raises(ValueError, match=message):
        GaussianProcess(X, y, Linear(), NOISE)
