"""Tests of lower bounds of the log evidence, on a linear network whose evidence is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from support.gp_tasks import gp_task

from onlinefa.gaussian import LowRankGaussian
from onlinefa_benchmark.models.bounds import estimate_bounds


@pytest.fixture
def linear():
    """Return a network whose output is its bias, its log evidence, and its posterior."""
    network = gp_task(3, rows=8, noise=0.3).network
    network = replace(network, X=np.zeros_like(network.X), y=network.y + 2)
    N, D, sigma = len(network.y), network.dimension, network.prior.sigma_b
    exact = multivariate_normal(np.zeros(N), 0.3 * np.eye(N) + sigma**2).logpdf(network.y)
    mean, variances = np.zeros(D), np.ones(D)
    variances[-1] = 1 / (1 + N * sigma**2 / 0.3)
    mean[-1] = variances[-1] * sigma * network.y.sum() / 0.3
    return network, exact, LowRankGaussian(mean, np.empty((D, 0)), variances)


def test_both_bounds_of_the_posterior_are_the_log_evidence(linear):
    network, exact, posterior = linear
    found = estimate_bounds(network, posterior, 10, np.random.default_rng(0))
    assert found.lower == pytest.approx(exact)
    assert found.importance_weighted == pytest.approx(exact)
    assert found.error == pytest.approx(0, abs=1e-9)


def test_the_gap_of_the_bound_is_the_divergence_and_importance_weights_close_it(linear):
    network, exact, posterior = linear
    wider = LowRankGaussian(posterior.mean + 0.1, posterior.factors, 1.2 * posterior.noise)
    found = estimate_bounds(network, wider, 20_000, np.random.default_rng(0))
    assert exact - found.lower == pytest.approx(wider.kl(posterior), abs=4 * found.error)
    assert found.importance_weighted == pytest.approx(exact, abs=0.02)
