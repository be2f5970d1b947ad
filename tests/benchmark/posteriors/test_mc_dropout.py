"""Tests of Monte-Carlo dropout."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from support.tiny_networks import task_of, trainings_of

from onlinefa_benchmark.posteriors.mc_dropout import MCDropout


@pytest.fixture(scope="module")
def task():
    return task_of(trainings_of(), samples=3000)


def hidden_layer(network, theta, inputs):
    """Return v_h erf(w_h'x) for each input and unit, and the bias."""
    weights = network.scales.numpy() * theta
    p, H = network.X.shape[1], network.width
    below, above = weights[: H * p].reshape(H, p), weights[H * p : -1]
    units = torch.erf(torch.from_numpy(inputs @ below.T)).numpy()
    return units * above, weights[-1]


def test_predictions_have_the_moments_of_dropped_units(task):
    """A unit has the factor 0 or 1 / (1 - p), of mean one and variance p / (1 - p)."""
    posterior = MCDropout(dropout=0.3, steps=1, learning_rate=1e-9)
    found = posterior.functions(task).values
    parts, bias = hidden_layer(task.network, task.mode, task.inputs)
    mean, variance = parts.sum(axis=1) + bias, 0.3 / 0.7 * np.sum(parts**2, axis=1)
    error = np.sqrt(variance / len(found))
    assert (np.abs(found.mean(axis=0) - mean) < 5 * error + 1e-6).all()
    np.testing.assert_allclose(found.var(axis=0), variance, rtol=0.15)


def test_a_network_is_dropped_out_as_a_whole(task):
    """All inputs have the same mask, so that there are at most 2^H different predictions."""
    found = MCDropout(dropout=0.5, steps=1, learning_rate=1e-9).functions(task).values
    assert len(np.unique(found.round(9), axis=0)) == 2**task.network.width


def test_training_decreases_the_energy_with_dropout(task):
    posterior = MCDropout(dropout=0.2, steps=300)

    def energy_with_dropout(theta):
        masks = torch.Generator().manual_seed(3)
        network = task.network
        X, y = network.table
        mask = posterior._draw_mask((2000, len(y), network.width), masks)
        weights = network.scales * torch.from_numpy(theta)
        outputs = network.shape.forward(weights, X, mask)
        return float(network.likelihood.misfit(outputs, y).mean()) + theta @ theta / 2

    masks = torch.Generator().manual_seed(0)
    trained = posterior.train(task, np.random.default_rng(0), masks)
    assert energy_with_dropout(trained) < energy_with_dropout(task.mode) - 1


def test_the_same_task_gives_the_same_functions(task):
    one, two = (MCDropout(steps=5).functions(task).values for _ in range(2))
    np.testing.assert_array_equal(one, two)
