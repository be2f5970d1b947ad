"""Tests of Bayesian linear regression against scikit-learn and against formulas."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct
from sklearn.linear_model import BayesianRidge, Ridge
from support.regressions import regression_of, table

from onlinefa_benchmark.models.linear_regression import LinearRegression


@pytest.fixture(scope="module")
def regression():
    return regression_of(40, 3)


def test_the_posterior_mean_is_ridge_regression(regression):
    strength = regression.alpha / regression.beta
    ridge = Ridge(alpha=strength, fit_intercept=False).fit(regression.X, regression.y)
    np.testing.assert_allclose(regression.posterior.mean, ridge.coef_, rtol=1e-10)


def test_the_posterior_is_a_gaussian_process_with_a_linear_kernel(regression):
    X, y, alpha, beta = regression.X, regression.y, regression.alpha, regression.beta
    points = np.random.default_rng(1).standard_normal((6, regression.D)) * 3
    mean = points @ regression.posterior.mean
    variances = np.diag(points @ regression.posterior.covariance() @ points.T)

    # theta ~ N(0, I / alpha) gives f(x) the covariance x'x / alpha.
    seen = X @ X.T / alpha + np.eye(regression.N) / beta
    between = points @ X.T / alpha
    np.testing.assert_allclose(mean, between @ np.linalg.solve(seen, y), rtol=1e-9)
    explained = np.sum(between * np.linalg.solve(seen, between.T).T, axis=1)
    np.testing.assert_allclose(variances, np.sum(points**2, axis=1) / alpha - explained, rtol=1e-8)

    kernel = ConstantKernel(1 / alpha, "fixed") * DotProduct(0, "fixed")
    process = GaussianProcessRegressor(kernel, alpha=1 / beta, optimizer=None).fit(X, y)
    theirs, deviations = process.predict(points, return_std=True)
    np.testing.assert_allclose(mean, theirs, rtol=1e-8)
    np.testing.assert_allclose(variances, deviations**2, rtol=1e-6)


def test_the_posterior_is_that_of_bayesian_ridge(regression):
    theirs = BayesianRidge(fit_intercept=False).fit(regression.X, regression.y)
    ours = LinearRegression(
        regression.X, regression.y, alpha=theirs.lambda_, beta=theirs.alpha_
    ).posterior
    np.testing.assert_allclose(ours.mean, theirs.coef_, rtol=1e-8)
    np.testing.assert_allclose(ours.covariance(), theirs.sigma_, rtol=1e-8, atol=1e-12)


def test_the_posterior_solves_its_normal_equations(regression):
    X, y, alpha, beta = regression.X, regression.y, regression.alpha, regression.beta
    A = alpha * np.eye(regression.D) + beta * sum(np.outer(x, x) for x in X)
    posterior = regression.posterior
    np.testing.assert_allclose(A @ posterior.mean, beta * X.T @ y, rtol=1e-10)
    np.testing.assert_allclose(A @ posterior.covariance(), np.eye(regression.D), atol=1e-10)


def test_a_table_is_standardised_and_gets_a_column_of_ones():
    inputs, y = table(50, 3)
    model = LinearRegression.of_table(inputs, y)
    assert (model.N, model.D) == (50, 4)
    np.testing.assert_allclose(model.X[:, :3].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(model.X[:, :3].std(axis=0), 1)
    np.testing.assert_array_equal(model.X[:, 3], 1)
    # Standardising a column only shifts and scales it.
    for column in range(3):
        assert np.corrcoef(model.X[:, column], inputs[:, column])[0, 1] == pytest.approx(1)
    assert model.y is y
    assert model.beta == pytest.approx(1 / np.mean((y - y.mean()) ** 2))


@pytest.mark.parametrize("share", [0.01, 0.3])
def test_the_share_of_the_prior_is_the_weight_decay(share):
    # A standardised column has mean square one, and so has a column of ones: the diagonal of X'X is
    # N, its mean too. So alpha = share beta N, and decay = alpha / beta / N = share.
    model = LinearRegression.of_table(*table(50, 3), prior_share=share)
    np.testing.assert_allclose(np.diag(model.X.T @ model.X), 50)
    assert model.alpha == pytest.approx(share * model.beta * 50, rel=1e-12)
    assert model.decay == pytest.approx(share, rel=1e-12)


def test_a_constant_column_is_refused():
    inputs, y = table(50, 3)
    inputs[:, 1] = 4
    with pytest.raises(ValueError, match="column 1"):
        LinearRegression.of_table(inputs, y)


def test_constant_columns_of_any_value_are_refused():
    inputs, y = table(50, 3)
    inputs[:, 1] = 0.1
    with pytest.raises(ValueError, match="column 1"):
        LinearRegression.of_table(inputs, y)


def differences(function, at, step=1e-3):
    """Return gradient and Hessian by central differences, exact for a quadratic function."""
    D = len(at)
    steps = step * np.eye(D)
    gradient = [(function(at + s) - function(at - s)) / (2 * step) for s in steps]
    hessian = [
        [
            function(at + s + t)
            - function(at + s - t)
            - function(at - s + t)
            + function(at - s - t)
            for t in steps
        ]
        for s in steps
    ]
    return np.array(gradient), np.array(hessian) / (4 * step**2)


def test_the_minimum_of_the_loss_is_the_posterior_mean(regression):
    mean = regression.posterior.mean
    gradient, hessian = differences(regression.loss, mean)
    np.testing.assert_allclose(gradient, 0, atol=1e-9)
    np.testing.assert_allclose(hessian, regression.hessian(), atol=1e-7)
    assert np.linalg.eigvalsh(hessian).min() > 0


def test_the_loss_is_the_sum_of_6_4_over_the_table_divided_by_its_length(regression):
    theta = np.random.default_rng(2).standard_normal(regression.D)
    total = regression.alpha / regression.beta * theta @ theta
    for x, y in zip(regression.X, regression.y, strict=True):
        total += (y - theta @ x) ** 2
    assert regression.loss(theta) == pytest.approx(total / regression.N, rel=1e-12)


def test_the_hessian_is_proportional_to_the_precision_of_the_posterior(regression):
    precision = np.linalg.inv(regression.posterior.covariance())
    expected = 2 * precision / (regression.N * regression.beta)
    np.testing.assert_allclose(regression.hessian(), expected, rtol=1e-9, atol=1e-10)


def test_a_mean_loss_with_the_decay_of_a_sum_has_another_minimum(regression):
    # mean squares + lambda |theta|^2 is the sum of squares + N lambda |theta|^2, over N: the
    # posterior mean under a prior that is N times as precise.
    X, y, N = regression.X, regression.y, regression.N
    strength = regression.alpha / regression.beta
    mistaken = np.linalg.solve(X.T @ X / N + strength * np.eye(regression.D), X.T @ y / N)
    too_precise = LinearRegression(X, y, regression.alpha * N, regression.beta)
    np.testing.assert_allclose(too_precise.posterior.mean, mistaken, rtol=1e-10)
    assert np.linalg.norm(mistaken) < 0.9 * np.linalg.norm(regression.posterior.mean)
    assert regression.loss(mistaken) > 1.1 * regression.loss(regression.posterior.mean)
