"""Tests of the posterior of a network and of SGD, against formulas and against the process."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import erf

from onlinefa.walks.errors import WalkDiverged
from onlinefa_benchmark.models.covariance import NeuralNetwork
from onlinefa_benchmark.models.likelihoods import Gaussian
from onlinefa_benchmark.models.network import NetworkPosterior
from onlinefa_benchmark.models.scaling import append_ones

PRIOR = NeuralNetwork(sigma_w=1.4, omega=1.2, sigma_b=0.5)

NOISE = 0.1


def network(width, rows=24):
    random = np.random.default_rng(0)
    X = append_ones(random.normal(size=(rows, 2)))
    return NetworkPosterior(X, np.sin(X[:, 0]) + X[:, 1], PRIOR, Gaussian(NOISE), width)


def by_hand(net, theta, X):
    """Compute (2.25) one unit at a time."""
    H, p = net.width, X.shape[1]
    outputs = np.full(len(X), PRIOR.sigma_b * theta[-1])
    for h in range(H):
        w = PRIOR.sigma_w * theta[h * p : (h + 1) * p]
        outputs += PRIOR.omega / np.sqrt(H) * theta[H * p + h] * erf(X @ w)
    return outputs


def test_evaluating_several_networks_equals_evaluating_each():
    net = network(5)
    random = np.random.default_rng(1)
    thetas, asked = random.normal(size=(4, net.dimension)), append_ones(random.normal(size=(6, 2)))
    assert net.dimension == 5 * 3 + 5 + 1
    expected = [by_hand(net, theta, asked) for theta in thetas]
    np.testing.assert_allclose(net.functions(thetas, asked), expected, rtol=1e-12)


def test_the_energy_is_a_sum_over_the_table_and_the_prior():
    net = network(5)
    theta = np.random.default_rng(2).normal(size=net.dimension)
    errors = net.y - by_hand(net, theta, net.X)
    expected = np.sum(errors**2) / (2 * NOISE) + theta @ theta / 2
    assert float(net.energy(torch.from_numpy(theta))) == pytest.approx(expected)


def test_the_jacobian_equals_finite_differences_of_the_outputs():
    net = network(3)
    theta, step = np.random.default_rng(3).normal(size=net.dimension), 1e-6
    slopes = [
        (by_hand(net, theta + step * axis, net.X) - by_hand(net, theta - step * axis, net.X))
        / (2 * step)
        for axis in np.eye(net.dimension)
    ]
    np.testing.assert_allclose(net.jacobian(theta, net.X), np.transpose(slopes), atol=1e-8)


def test_the_second_moment_of_information_rows_is_the_gauss_newton_hessian():
    net = network(5)
    theta = np.random.default_rng(5).normal(size=net.dimension)
    rows = net.information_rows(theta, np.arange(len(net.y)), np.random.default_rng(6))
    J = net.jacobian(theta, net.X)
    np.testing.assert_allclose(rows.T @ rows / len(net.y), J.T @ J / NOISE, rtol=1e-9, atol=1e-12)


def test_information_rows_of_observed_targets_add_up_to_the_gradient_of_the_misfit():
    net = network(5)
    theta = np.random.default_rng(5).normal(size=net.dimension)
    rows = net.information_rows(theta, np.arange(len(net.y)))
    residuals = by_hand(net, theta, net.X) - net.y
    expected = net.jacobian(theta, net.X).T @ residuals / NOISE
    np.testing.assert_allclose(rows.sum(axis=0) / np.sqrt(len(net.y)), expected, rtol=1e-9)


def test_the_curvature_is_the_largest_eigenvalue():
    net = network(5)
    theta = np.random.default_rng(5).normal(size=net.dimension)
    J = net.jacobian(theta, net.X)
    largest = np.linalg.eigvalsh(J.T @ J / NOISE + np.eye(net.dimension))[-1]
    assert net.curvature(theta) == pytest.approx(largest / len(net.y), rel=1e-3)


def test_a_step_of_sgd_follows_the_energy_of_its_batch():
    """The gradient is that of (N / batch times the misfit of the batch, plus the prior) / N."""
    net, batch, rate = network(4), 8, 1e-3
    theta = np.random.default_rng(6).normal(size=net.dimension)
    (walk,) = net.walk(theta, rate, batch, epochs=1, random=np.random.default_rng(7))
    order, N = np.random.default_rng(7).permutation(24), 24
    assert len(walk) == N // batch
    for step, weights in enumerate(walk):
        rows = order[step * batch : (step + 1) * batch]
        J = net.jacobian(theta, net.X[rows])
        misfit = -J.T @ (net.y[rows] - by_hand(net, theta, net.X[rows])) / NOISE
        theta = theta - rate * (misfit * N / batch + theta) / N
        np.testing.assert_allclose(weights, theta, rtol=1e-10)


def test_a_walk_is_reproducible():
    net = network(4)
    walks = [
        np.concatenate(
            list(net.walk(np.zeros(net.dimension), 1e-3, 5, 3, np.random.default_rng(8)))
        )
        for _ in range(2)
    ]
    assert walks[0].shape == (3 * (24 // 5), net.dimension)
    np.testing.assert_array_equal(*walks)


def test_a_walk_that_diverges_raises_an_error():
    net = network(4)
    theta = np.ones(net.dimension)
    with pytest.raises(WalkDiverged, match="a learning rate of 1e"):
        list(net.walk(theta, 1e9, 8, 50, np.random.default_rng(0)))


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 300])
def test_functions_of_the_prior_have_the_process_covariance_at_any_width(width):
    net = network(width)
    X = net.X[:3]
    draws = np.random.default_rng(9).normal(size=(20_000, net.dimension))
    values = net.functions(draws, X)
    products = values[:, :, None] * values[:, None, :]
    error = products.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(products.mean(axis=0) - PRIOR(X, X)) < 4 * error)


@pytest.mark.slow
def test_functions_of_the_prior_become_gaussian_as_networks_become_wide():
    """The excess kurtosis is that of one unit divided by the width.

    It is 3 Var(u^2) / E(u^2)^2 / H for u = erf(w'x), without the bias, which is Gaussian.
    """
    prior = NeuralNetwork(1.4, 1.2, 1e-9)
    x = np.array([[0.3, -0.4, 1.0]])
    units = erf(1.4 * np.random.default_rng(10).normal(size=(10**6, 3)) @ x[0])
    of_one_unit = 3 * np.var(units**2) / np.mean(units**2) ** 2
    for width in (1, 4, 100):
        net = NetworkPosterior(np.ones((2, 3)), np.zeros(2), prior, Gaussian(NOISE), width)
        draws = np.random.default_rng(11).normal(size=(60_000, net.dimension))
        values = net.functions(draws, x)[:, 0]
        kurtosis = np.mean(values**4) / np.mean(values**2) ** 2 - 3
        assert kurtosis == pytest.approx(of_one_unit / width, abs=0.25 / width + 0.1)
