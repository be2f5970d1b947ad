"""Tests of Gaussians with a low-rank plus diagonal precision against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from onlinefa import LowRankGaussian, NotFinite, PrecisionGaussian

D = 6


def gaussian_of(K, scale=1.0):
    random = np.random.default_rng(0)
    return PrecisionGaussian(
        random.normal(size=D), scale * random.normal(size=(D, K)), random.uniform(0.5, 2, size=D)
    )


@pytest.mark.parametrize("K", [0, 1, 3, 9])
def test_the_covariance_is_the_inverse_of_the_precision(K):
    gaussian = gaussian_of(K)
    expected = np.linalg.inv(gaussian.factors @ gaussian.factors.T + np.diag(gaussian.diagonal))
    np.testing.assert_allclose(gaussian.covariance(), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(gaussian.precision(), np.linalg.inv(expected), rtol=1e-8)
    np.testing.assert_allclose(gaussian.variances, np.diag(expected), rtol=1e-9)
    J = np.random.default_rng(1).normal(size=(4, D))
    np.testing.assert_allclose(gaussian.variances_along(J), np.diag(J @ expected @ J.T), rtol=1e-9)


@pytest.mark.parametrize("K", [0, 2])
def test_the_density_is_that_of_scipy(K):
    gaussian = gaussian_of(K)
    rows = np.random.default_rng(1).normal(size=(5, D))
    oracle = multivariate_normal(gaussian.mean, gaussian.covariance())
    np.testing.assert_allclose(gaussian.log_prob(rows), oracle.logpdf(rows), rtol=1e-9)


def test_samples_are_a_root_of_the_covariance_times_normal_numbers(monkeypatch):
    """Rows of the identity in place of normal numbers show the root L itself: LL' = covariance."""
    gaussian = gaussian_of(2)

    class Identity(np.random.Generator):
        def standard_normal(self, size):
            return np.eye(*size)

    root = gaussian.sample(D, Identity(np.random.PCG64())) - gaussian.mean
    np.testing.assert_allclose(root.T @ root, gaussian.covariance(), rtol=1e-9, atol=1e-12)


def test_small_variances_keep_their_digits():
    """The data determine one direction 10^12 times better than the prior."""
    u = np.ones(D) / np.sqrt(D)
    gaussian = PrecisionGaussian(np.zeros(D), 1e6 * u[:, None], np.ones(D))
    np.testing.assert_allclose(gaussian.variances_along(u[None]), 1 / (1 + 1e12), rtol=1e-3)


def test_information_is_added_to_the_precision_of_the_prior():
    information = LowRankGaussian(np.ones(D), np.full((D, 1), 2.0), np.full(D, 3.0))
    posterior = PrecisionGaussian.of_information(np.zeros(D), information, 0.5)
    expected = 0.5 * np.eye(D) + information.covariance()
    np.testing.assert_allclose(posterior.precision(), expected)


def test_bad_arrays_are_refused():
    good = np.zeros(2), np.ones((2, 1)), np.ones(2)
    with pytest.raises(NotFinite, match="factors"):
        PrecisionGaussian(good[0], np.full((2, 1), np.nan), good[2])
    with pytest.raises(ValueError, match="shapes do not agree"):
        PrecisionGaussian(good[0], np.ones((3, 1)), good[2])
    with pytest.raises(ValueError, match="positive"):
        PrecisionGaussian(good[0], good[1], np.array([1.0, 0.0]))
