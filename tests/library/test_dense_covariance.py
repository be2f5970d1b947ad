"""Tests of a dense covariance as a low-rank Gaussian."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from support.regressions import relative

from onlinefa.gaussian import LowRankGaussian, NoDensity


def random_covariance(D, rank, seed=0):
    half = np.random.default_rng(seed).standard_normal((D, rank))
    return half @ half.T


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("D", [1, 2, 7])
def test_a_covariance_and_its_density_are_preserved(D, scale):
    covariance = scale * random_covariance(D, D + 2)
    random = np.random.default_rng(1)
    mean, points = random.standard_normal(D), random.standard_normal((5, D)) * np.sqrt(scale)
    gaussian = LowRankGaussian.of_covariance(mean, covariance)
    np.testing.assert_array_equal(gaussian.mean, mean)
    assert relative(gaussian.covariance(), covariance) < 1e-14 * D**2
    np.testing.assert_allclose(gaussian.noise, np.linalg.eigvalsh(covariance)[0] / 2, rtol=1e-10)
    expected = multivariate_normal(mean, covariance).logpdf(points)
    np.testing.assert_allclose(gaussian.log_prob(points), expected, rtol=1e-9)


def test_a_singular_covariance_is_preserved_without_a_density():
    covariance = np.diag([4.0, 0.0, 1.0])
    gaussian = LowRankGaussian.of_covariance(np.zeros(3), covariance)
    np.testing.assert_allclose(gaussian.covariance(), covariance, atol=1e-15)
    assert np.array_equal(gaussian.noise, np.zeros(3))
    with pytest.raises(NoDensity):
        gaussian.log_prob(np.zeros((1, 3)))


@pytest.mark.parametrize("seed", range(5))
def test_a_covariance_that_is_singular_up_to_rounding_is_preserved(seed):
    # Rounding makes the smallest eigenvalues slightly positive or slightly negative.
    covariance = random_covariance(8, 3, seed)
    gaussian = LowRankGaussian.of_covariance(np.zeros(8), covariance)
    np.testing.assert_allclose(gaussian.covariance(), covariance, atol=1e-13)


def test_a_zero_covariance_is_preserved():
    gaussian = LowRankGaussian.of_covariance(np.ones(3), np.zeros((3, 3)))
    np.testing.assert_array_equal(gaussian.covariance(), np.zeros((3, 3)))
    np.testing.assert_array_equal(gaussian.sample(2, 0), np.ones((2, 3)))
