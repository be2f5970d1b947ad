"""Tests that steps of many networks together equal those of each of them separately."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from support.tiny_networks import table_of

from onlinefa_benchmark.models.covariance import NeuralNetwork
from onlinefa_benchmark.models.likelihoods import Categorical, Gaussian
from onlinefa_benchmark.models.network import NetworkPosterior
from onlinefa_benchmark.models.training import Networks

PRIORS = [NeuralNetwork(0.7, 1.2, 0.5), NeuralNetwork(1.5, 0.8, 1.0)]

NOISES = [0.1, 0.4]


@pytest.fixture(autouse=True)
def same_numbers():
    torch.manual_seed(0)


def networks(classes=None, rows=24, width=3):
    table = table_of(rows, classes)
    likelihoods = [Categorical(classes) if classes else Gaussian(noise) for noise in NOISES]
    return Networks(
        [
            NetworkPosterior(table.X, table.y, prior, likelihood, width)
            for prior, likelihood in zip(PRIORS, likelihoods, strict=True)
        ]
    )


def starts(nets, runs, seed=1):
    shape = (len(nets.members), runs, nets.first.dimension)
    return np.random.default_rng(seed).normal(size=shape)


def slope(member, theta, rows=None):
    """Return the gradient of a member's energy over N, from some rows, in double precision."""
    X, y = member.table
    rows = slice(None) if rows is None else rows
    at = torch.as_tensor(theta, dtype=torch.float64).requires_grad_()
    misfit = member.misfit(at, X[rows], y[rows]) / len(y[rows])
    (found,) = torch.autograd.grad(misfit + at @ at / (2 * len(y)), at)
    return found.numpy()


@pytest.mark.parametrize("classes", [None, 3])
def test_the_gradient_of_a_batch_is_scaled_to_all_rows(classes):
    """The energy over N is the misfit per row of the batch plus the prior over N."""
    nets = networks(classes)
    weights, rows = starts(nets, runs=2), torch.tensor([[3, 5, 7], [0, 1, 2]])
    of_energy = nets.energy_gradient(nets.single(weights), rows)
    of_misfit = nets.misfit_gradient(nets.single(weights), rows)
    for b, member in enumerate(nets.members):
        for r in range(2):
            expected = slope(member, weights[b, r], rows[r])
            np.testing.assert_allclose(of_energy[b, r], expected, rtol=1e-4, atol=1e-5)
            prior = weights[b, r] / len(member.y)
            np.testing.assert_allclose(of_misfit[b, r], expected - prior, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("classes", [None, 3])
def test_each_network_walks_with_its_own_rate(classes):
    nets, rates, batch = networks(classes), np.array([1e-3, 0.2]), 8
    theta = starts(nets, runs=2)
    walk = nets.walk(theta, rates, 4, 1, batch, np.random.default_rng(3))
    batches = list(nets.batches(2, 4, batch, np.random.default_rng(3)))
    for step in range(4):
        for b, member in enumerate(nets.members):
            for r in range(2):
                gradient = slope(member, theta[b, r], batches[step][r])
                theta[b, r] = theta[b, r] - rates[b] * gradient
        np.testing.assert_allclose(walk[:, :, step], theta, atol=2e-5)
    moved = np.abs(walk[:, :, -1] - starts(nets, 2)).max(axis=(1, 2))
    assert moved[1] > 10 * moved[0]


def test_a_walk_is_recorded_every_few_steps():
    nets = networks()
    told = (starts(nets, 2), np.array([1e-3, 1e-3]), 11)
    whole = nets.walk(*told, 1, 8, np.random.default_rng(3))
    some = nets.walk(*told, 4, 8, np.random.default_rng(3))
    np.testing.assert_array_equal(some, whole[:, :, [3, 7]])


def test_a_diverging_walk_does_not_affect_the_others():
    nets = networks()
    told = (60, 1, 8)
    walk = nets.walk(starts(nets, 2), np.array([1e9, 1e-3]), *told, np.random.default_rng(3))
    calm = nets.walk(starts(nets, 2), np.array([1e-3, 1e-3]), *told, np.random.default_rng(3))
    assert not np.isfinite(walk[0, :, -1]).any()
    np.testing.assert_allclose(walk[1], calm[1], atol=1e-6)


def test_an_epoch_has_every_row_once_in_an_order_that_differs_by_run():
    nets = networks(rows=24)
    batches = np.stack(list(nets.batches(3, 9, 8, np.random.default_rng(4))))
    assert batches.shape == (9, 3, 8)
    for epoch in np.split(batches, 3):
        for run in range(3):
            np.testing.assert_array_equal(np.sort(epoch[:, run].ravel()), np.arange(24))
    orders = {tuple(epoch[:, run].ravel()) for epoch in np.split(batches, 3) for run in range(3)}
    assert len(orders) == 9


def test_rows_that_do_not_fill_a_batch_are_left_out_of_an_epoch():
    nets = networks(rows=24)
    batches = np.stack(list(nets.batches(2, 5, 10, np.random.default_rng(4))))
    assert batches.shape == (5, 2, 10)  # two in an epoch, and half of a third epoch
    for epoch in (batches[:2], batches[2:4]):
        assert all(len(set(epoch[:, run].ravel())) == 20 for run in range(2))


def test_the_same_seeds_give_the_same_bits():
    nets, rates = networks(), np.array([1e-3, 1e-2])

    def walk(seed):
        return nets.walk(starts(nets, 2), rates, 20, 3, 8, np.random.default_rng(seed))

    np.testing.assert_array_equal(walk(6), walk(6))
    assert not np.array_equal(walk(7), walk(6))
