"""Tests of the samples of NUTS."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from support.gp_tasks import gp_task

from onlinefa_benchmark import algorithms
from onlinefa_benchmark.posteriors.nuts import _energy

pytestmark = pytest.mark.slow  # each test compiles functions of JAX


@pytest.fixture(scope="module")
def task():
    return gp_task(8)


def test_the_jax_function_equals_the_energy(task):
    theta = np.random.default_rng(1).normal(size=task.network.dimension)
    expected = float(task.network.energy(torch.from_numpy(theta)))
    assert float(_energy(task.network)(theta)) == pytest.approx(expected, rel=1e-5)  # float32


def test_nuts_draws_from_the_posterior():
    """Samples are compared with draws from the prior, weighted by their likelihood."""
    task = gp_task(2, rows=6, noise=0.5)
    settings = {"chains": 2, "warm_up": 300, "draws": 700, "tree_depth": 8}
    found = algorithms.load("nuts")(**settings).functions(task)
    assert found.doubt == ""
    assert found.diagnostics["r_hat"] < 1.05
    thetas = np.random.default_rng(2).normal(size=(200_000, task.network.dimension))
    errors = task.network.y - task.network.functions(thetas, task.network.X)
    weights = np.exp(-np.sum(errors**2, axis=1) / (2 * 0.5))
    weights /= weights.sum()
    assert 1 / np.sum(weights**2) > 2500
    values = task.network.functions(thetas, task.inputs)
    mean = weights @ values
    sd = np.sqrt(weights @ (values - mean) ** 2)
    error = 4 * sd / np.sqrt(found.diagnostics["effective_sample_size"])
    assert np.all(np.abs(found.mean - mean) < error)
    np.testing.assert_allclose(found.sd, sd, rtol=0.15)


def test_chains_that_disagree_are_not_used_as_a_reference(task):
    settings = {"chains": 2, "warm_up": 1, "draws": 4, "tree_depth": 1}
    found = algorithms.load("nuts")(**settings).functions(task)
    assert "R-hat is" in found.doubt
