"""Tests of stochastic gradient Hamiltonian Monte Carlo."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.tiny_networks import TRAINING, task_of, trainings_of

from onlinefa.walks.errors import WalkDiverged
from onlinefa_benchmark.posteriors.sghmc import SGHMC


@pytest.fixture(scope="module")
def trainings():
    return trainings_of()


def test_states_of_a_linear_network_have_the_moments_of_the_posterior():
    """With inputs of zero the output is the bias, and all other weights have the prior N(0, 1).

    In units of the prior, the bias has the precision 1 + N sigma^2 / noise. Batches are the whole
    table, so that gradients are exact.
    """
    whole_table = trainings_of(training=replace(TRAINING, batch=24))
    task = task_of(whole_table, samples=4000)
    network = replace(task.network, X=np.zeros_like(task.network.X))
    task = replace(task, network=network)
    N, sigma, noise = len(network.y), network.prior.sigma_b, network.likelihood.noise
    precision = 1 + N * sigma**2 / noise
    mean = sigma * network.y.sum() / noise / precision
    states = SGHMC(steps=8000, chains=5, rate=0.1, friction=0.1).walk(task)
    assert states.shape == (4000, network.dimension)
    bias, others = states[:, -1], states[:, :-1]
    assert bias.mean() == pytest.approx(mean, abs=4 * precision**-0.5 / np.sqrt(200))
    assert bias.std() == pytest.approx(precision**-0.5, rel=0.15)
    assert others.std() == pytest.approx(1, rel=0.15)


def test_chains_start_at_their_modes_and_have_equal_numbers_of_states(trainings):
    task = task_of(trainings, samples=6)
    states = SGHMC(steps=4, chains=3, rate=1e-12).walk(task)
    assert states.shape == (6, task.network.dimension)
    np.testing.assert_allclose(states[:3], task.modes(3), atol=1e-3)
    np.testing.assert_allclose(states[3:], task.modes(3), atol=1e-3)


def test_functions_are_those_of_the_states(trainings):
    task = task_of(trainings, samples=10)
    posterior = SGHMC(steps=20)
    functions, seconds = posterior.timed(task)
    expected = task.network.functions(posterior.walk(task), task.inputs)
    np.testing.assert_array_equal(functions.values, expected)
    assert functions.networks == 10
    assert seconds > 0


def test_too_large_steps_diverge(trainings):
    with pytest.raises(WalkDiverged, match=r"SGHMC with 1e\+03 of the critical rate diverges"):
        SGHMC(steps=200, rate=1e3).functions(task_of(trainings))
