"""Tests of underdamped Langevin dynamics over the weights of a network."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from support.gp_tasks import gp_task

from onlinefa_benchmark import algorithms
from onlinefa_benchmark.models.network_target import NetworkTarget
from onlinefa_benchmark.posteriors._underdamped import walk_underdamped


def test_batches_estimate_the_gradient_of_the_energy_without_bias():
    network = gp_task(4).network
    theta = np.random.default_rng(0).normal(size=network.dimension)
    at = torch.from_numpy(theta).requires_grad_()
    expected = torch.autograd.grad(network.energy(at), at)[0].numpy()
    target, N = NetworkTarget(network), len(network.y)
    batches = np.random.default_rng(1).permutation(N).reshape(4, -1)
    average = np.mean([target.gradient(theta, rows) for rows in batches], axis=0)
    np.testing.assert_allclose(target.gradient(theta, np.arange(N)), expected, rtol=1e-9)
    np.testing.assert_allclose(average, expected, rtol=1e-9)


def test_the_second_half_of_a_walk_is_kept():
    task = gp_task(4)  # SGD's walk costs four gradients of the table
    for budget, kept in ((1, 2), (100, 200)):
        assert sum(len(states) for states in walk_underdamped(task, budget)) == kept


@pytest.mark.slow
def test_a_long_walk_has_the_posterior_of_nuts():
    """Means and standard deviations of functions agree with those of chains that are exact."""
    pytest.importorskip("numpyro")
    task = gp_task(6, rows=10)
    exact = algorithms.load("nuts")(draws=1000).functions(task)
    found = algorithms.load("underdamped")(budget=10_000).functions(task)
    assert not exact.doubt
    # Fifty states and a correlated walk: a third of a standard deviation, and a third of its size.
    np.testing.assert_allclose((found.mean - exact.mean) / exact.sd, 0, atol=0.5)
    assert np.mean(found.sd / exact.sd) == pytest.approx(1, abs=0.15)
