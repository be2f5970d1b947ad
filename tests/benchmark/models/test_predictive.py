"""Tests of predictive distributions and scores, against integrals and values by hand."""

from __future__ import annotations

from itertools import pairwise
from math import log, pi, sqrt

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from onlinefa_benchmark.models import predictive
from onlinefa_benchmark.models.predictive import (
    GaussianMixture,
    coverage,
)
from onlinefa_benchmark.posteriors.base import GaussianFunctions, SampledFunctions

MEANS = np.array([[0.0, 1.0], [2.0, -1.0], [0.5, 4.0]])
SDS = np.array([[1.0, 0.3], [0.5, 2.0], [0.2, 1.0]])
Y = np.array([0.7, -2.0])


def density(i, x):
    return np.mean(norm.pdf(x, MEANS[:, i], SDS[:, i]))


def below(i, x):
    return np.mean(norm.cdf(x, MEANS[:, i], SDS[:, i]))


def integral(function, *breaks):
    """Integrate piece by piece over the range in which the mixtures have their mass."""
    edges = sorted([-20.0, *breaks, *MEANS.ravel(), 20.0])
    return sum(quad(function, a, b, epsabs=1e-11)[0] for a, b in pairwise(edges))


def test_densities_and_levels_of_a_mixture_are_averages_of_its_components():
    mixture = GaussianMixture(MEANS, SDS)
    np.testing.assert_allclose(mixture.mean, [2.5 / 3, 4 / 3])
    np.testing.assert_allclose(mixture.log_density(Y), [log(density(i, Y[i])) for i in (0, 1)])
    np.testing.assert_allclose(mixture.cdf(Y), [below(i, Y[i]) for i in (0, 1)])


def test_a_density_far_from_all_components_does_not_underflow():
    """The log density is -z^2/2 - log(sd sqrt(2 pi)) - log(3), with z of the nearest component.

    The densities of the two others underflow.
    """
    found = GaussianMixture(np.array([[0.0], [500.0], [900.0]]), np.ones((1, 1))).log_density(
        np.array([-100.0])
    )
    assert found[0] == pytest.approx(-5000 - log(sqrt(2 * pi)) - log(3))


def test_densities_integrate_to_one():
    for i in (0, 1):
        of_one = GaussianMixture(MEANS[:, [i]], SDS[:, [i]])
        total = integral(lambda x, m=of_one: float(np.exp(m.log_density(np.array([x]))[0])))
        assert total == pytest.approx(1, abs=1e-8)


def test_crps_is_the_integral_of_squared_differences_of_levels():
    found = GaussianMixture(MEANS, SDS).crps(Y)
    for i, y in enumerate(Y):
        expected = integral(lambda x, i=i, y=y: (below(i, x) - (y <= x)) ** 2, y)
        assert found[i] == pytest.approx(expected, rel=1e-7)


def test_crps_of_one_gaussian_has_a_closed_form():
    """It is sd (z (2 Phi(z) - 1) + 2 phi(z) - 1 / sqrt(pi)) (Gneiting and Raftery, 2007)."""
    mean, sd, y = np.array([1.0, -2.0, 0.0]), np.array([0.5, 3.0, 1e-6]), np.array([1.2, 4.0, 0.7])
    z = (y - mean) / sd
    expected = sd * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / sqrt(pi))
    np.testing.assert_allclose(GaussianMixture(mean[None], sd[None]).crps(y), expected, rtol=1e-9)
    assert GaussianMixture(mean[None], sd[None]).crps(y)[2] == pytest.approx(0.7, abs=1e-6)


@pytest.mark.parametrize("chunk", [1, 20, 50])
def test_crps_does_not_depend_on_how_points_are_grouped(chunk, monkeypatch):
    random = np.random.default_rng(0)
    mixture = GaussianMixture(random.normal(size=(4, 11)), np.full((1, 1), 0.3))
    y = random.normal(size=11)
    at_once = mixture.crps(y)
    monkeypatch.setattr(predictive, "_CHUNK", chunk)
    np.testing.assert_array_equal(mixture.crps(y), at_once)


def test_noise_is_added_to_the_variance_of_the_function():
    known = GaussianFunctions(np.array([1.0]), np.array([3.0])).targets(16.0)
    assert (known.means.item(), known.sds.item()) == (1.0, 5.0)
    drawn = SampledFunctions(np.array([[1.0, 2.0], [3.0, 4.0]])).targets(16.0)
    np.testing.assert_array_equal(drawn.means, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(np.broadcast_to(drawn.sds, (2, 2)), 4)


def test_coverage_counts_targets_in_the_central_interval():
    levels = np.array([0.0, 0.04, 0.3, 0.5, 0.76, 0.96, 1.0])
    assert coverage(levels, 0.5) == pytest.approx(2 / 7)  # 0.3 and 0.5
    assert coverage(levels, 0.9) == pytest.approx(3 / 7)
    assert coverage(levels, 0.95) == pytest.approx(5 / 7)
    assert coverage(levels, 1.0) == 1
    assert coverage(np.array([0.25, 0.75]), 0.5) == 1  # borders belong to the interval


def test_coverage_of_calibrated_predictions_equals_the_nominal_one():
    """The tolerance is four standard errors of a fraction of 20,000 targets."""
    random = np.random.default_rng(1)
    means, part = MEANS[:, 0], random.integers(3, size=20_000)
    y = random.normal(means[part], SDS[:, 0][part])
    levels = GaussianMixture(means[:, None], SDS[:, :1]).cdf(y)
    for share in (0.5, 0.9):
        error = sqrt(share * (1 - share) / 20_000)
        assert coverage(levels, share) == pytest.approx(share, abs=4 * error)
