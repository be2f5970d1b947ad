"""Tests of Gaussian processes on features, against exact processes."""

from __future__ import annotations

import numpy as np
import pytest
from support.regressions import curve_table

from onlinefa_benchmark.models.covariance import Linear, NeuralNetwork, SquaredExponential
from onlinefa_benchmark.models.features import FeatureRegression, nystrom_features, random_features
from onlinefa_benchmark.models.gaussian_process import (
    GaussianProcess,
)

COVARIANCES = [SquaredExponential(1.3, 0.7), Linear(0.8), NeuralNetwork(1.4, 1.2, 0.5)]

NOISE = 0.04


@pytest.fixture(scope="module")
def table():
    return curve_table()


@pytest.mark.parametrize("covariance", [COVARIANCES[0], COVARIANCES[2]], ids=["waves", "units"])
def test_the_error_of_random_features_decreases_with_the_root_of_their_number(covariance, table):
    X = table[0]
    errors = []
    for M in (201, 20_001):
        Phi = random_features(covariance, 4, M, np.random.default_rng(3))(X)
        errors.append(np.abs(Phi @ Phi.T - covariance(X, X)).mean())
    assert errors[0] / errors[1] == pytest.approx(10, rel=0.4)


def test_covariances_without_random_features_are_refused(table):
    with pytest.raises(TypeError, match="no random features for Linear"):
        random_features(Linear(), 4, 10, np.random.default_rng(0))


@pytest.mark.parametrize("covariance", COVARIANCES, ids=lambda own: type(own).__name__)
def test_landmarks_at_all_rows_give_the_exact_process(covariance, table):
    X, y, asked = table
    exact_mean, exact_variance = GaussianProcess(X, y, covariance, NOISE).predict(asked)
    features = nystrom_features(covariance, np.vstack([X, asked]))
    mean, variance = FeatureRegression(X, y, features, NOISE).predict(asked)
    np.testing.assert_allclose(mean, exact_mean, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(variance, exact_variance, rtol=1e-2, atol=1e-4)


def test_regression_on_features_equals_the_process_with_their_covariance(table):
    X, y, asked = table
    features = random_features(NeuralNetwork(), 4, 25, np.random.default_rng(4))
    mean, variance = FeatureRegression(X, y, features, NOISE).predict(asked)
    process = GaussianProcess(features(X), y, Linear(), NOISE)
    expected_mean, expected_variance = process.predict(features(asked))
    np.testing.assert_allclose(mean, expected_mean)
    np.testing.assert_allclose(variance, expected_variance, rtol=1e-6)
