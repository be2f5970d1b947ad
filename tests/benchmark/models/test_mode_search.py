"""Tests of the search for modes of a network's posterior."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from support import tiny_networks
from support.gp_tasks import gp_task

from onlinefa_benchmark.models.mode_search import TOLERANCE, ModeNotReached, find_mode


def gradient_at(network, theta):
    at = torch.from_numpy(theta).requires_grad_()
    return torch.autograd.grad(network.energy(at), at)[0].numpy()


def start_of(network):
    return np.random.default_rng(4).normal(size=network.dimension)


@pytest.mark.parametrize("width", [3, 40])  # fewer weights than rows, and more
def test_the_gradient_of_the_energy_is_small_at_a_mode(width):
    network = gp_task(width, noise=1e-4).network
    mode = find_mode(network, start_of(network), 3000)
    mode.check()
    norm = np.linalg.norm(gradient_at(network, mode.theta))
    assert norm == pytest.approx(mode.gradient_norm) and norm <= TOLERANCE


def test_a_mode_of_a_linear_problem_is_found_in_one_round():
    """The network is linear in its last layer, so that one Newton step leads to the mode.

    With an output layer only, that is with inputs of zero, the energy is quadratic.
    """
    network = gp_task(4).network
    constant = type(network)(
        np.zeros_like(network.X), network.y, network.prior, network.likelihood, network.width
    )
    mode = find_mode(constant, start_of(constant), 30)
    mode.check()
    # Units are erf(0) = 0, so that the output is the bias sigma_b z_b alone, and all other weights
    # are zero at the mode: z_b = sigma_b sum(y) / (noise + N sigma_b^2).
    sigma, noise = network.prior.sigma_b, network.likelihood.noise
    expected = np.zeros(constant.dimension)
    expected[-1] = sigma * network.y.sum() / (noise + len(network.y) * sigma**2)
    np.testing.assert_allclose(mode.theta, expected, atol=TOLERANCE)


def test_classes_have_modes_as_well():
    network = tiny_networks.trainings_of(3).networks.first
    mode = find_mode(network, start_of(network), 1000)
    mode.check()
    assert np.linalg.norm(gradient_at(network, mode.theta)) <= TOLERANCE


def test_a_search_that_ends_early_is_no_mode():
    network = gp_task(8, noise=1e-4).network
    mode = find_mode(network, start_of(network), 2)
    assert mode.iterations == 2
    with pytest.raises(ModeNotReached, match="in 2 iterations: the norm of the gradient is"):
        mode.check()
