"""Tests of Laplace approximations against laplace-torch."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
import torch
from support import tiny_networks
from support.gp_tasks import gp_task
from torch import nn

from onlinefa_benchmark import algorithms
from onlinefa_benchmark.posteriors._dense_spread import DenseSpread
from onlinefa_benchmark.torchvision_operators import declare_missing_operators


@pytest.fixture(scope="module")
def task():
    return gp_task(8)


@pytest.fixture(scope="module")
def laplace_torch():
    """Return the class of laplace-torch."""
    declare_missing_operators()
    from laplace import Laplace

    return Laplace


class InLayers(nn.Module):
    """The network as layers that laplace-torch supports, with the prior N(0, I)."""

    def __init__(self, network, theta):
        super().__init__()
        self.prior = network.prior
        self.hidden = nn.Linear(network.X.shape[1], network.width, bias=False)
        outputs = network.likelihood.outputs
        self.output = nn.Linear(network.width + 1, outputs, bias=False)
        self.to(torch.float64)
        below, above = np.split(theta, [network.last_layer])
        in_its_order = np.concatenate([below, above.reshape(-1, outputs).T.ravel()])
        nn.utils.vector_to_parameters(torch.from_numpy(in_its_order), self.parameters())

    def forward(self, X):
        hidden = torch.erf(self.hidden(self.prior.sigma_w * X))
        above = self.prior.omega / sqrt(hidden.shape[-1]) * hidden
        bias = self.prior.sigma_b * torch.ones_like(hidden[..., :1])
        return self.output(torch.cat([above, bias], dim=-1))


@pytest.mark.parametrize(("name", "weights"), [("laplace", "last_layer"), ("laplace_all", "all")])
def test_laplace_is_that_of_laplace_torch(name, weights, task, laplace_torch):
    network = task.network
    table = torch.utils.data.TensorDataset(
        torch.from_numpy(network.X), torch.from_numpy(network.y)[:, None]
    )
    oracle = laplace_torch(
        InLayers(network, task.mode),
        "regression",
        subset_of_weights=weights,
        hessian_structure="full",
        sigma_noise=sqrt(network.likelihood.noise),
        prior_precision=1.0,
    )
    oracle.fit(torch.utils.data.DataLoader(table, batch_size=len(network.y)))
    mean, variance = oracle(torch.from_numpy(task.inputs), pred_type="glm")
    found = algorithms.load(name)().functions(task)
    np.testing.assert_allclose(found.mean, mean.detach().numpy()[:, 0], rtol=1e-9)
    np.testing.assert_allclose(found.sd**2, variance.detach().numpy()[:, 0, 0], rtol=1e-5)


@pytest.mark.parametrize(("name", "weights"), [("laplace", "last_layer"), ("laplace_all", "all")])
def test_laplace_of_classes_is_that_of_laplace_torch(name, weights, laplace_torch):
    """Its precision has the weights of each class one after the other."""
    task = tiny_networks.task_of(tiny_networks.trainings_of(classes=3))
    network, first = task.network, task.network.last_layer if name == "laplace" else 0
    table = torch.utils.data.TensorDataset(torch.from_numpy(network.X), torch.from_numpy(network.y))
    oracle = laplace_torch(
        InLayers(network, task.mode),
        "classification",
        subset_of_weights=weights,
        hessian_structure="full",
        prior_precision=1.0,
    )
    oracle.fit(torch.utils.data.DataLoader(table, batch_size=len(network.y)))
    A = network.curvature_rows(task.mode, network.X, first)
    below, above = np.split(np.arange(A.shape[1]), [network.last_layer - first])
    A = A[:, np.concatenate([below, above.reshape(-1, 3).T.ravel()])]
    expected = oracle.posterior_precision.detach().numpy()
    np.testing.assert_allclose(np.eye(len(expected)) + A.T @ A, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["laplace", "laplace_all", "laplace_diagonal"])
def test_functions_of_classes_have_the_covariance_of_the_linearised_network(name):
    """The tolerance is four and a half standard errors of a sample covariance."""
    n = 20_000
    task = tiny_networks.task_of(tiny_networks.trainings_of(classes=3), samples=n, asked=2)
    network, first = task.network, task.network.last_layer if name == "laplace" else 0
    J = network.jacobian(task.mode, task.inputs, first).reshape(6, -1)
    A = network.curvature_rows(task.mode, network.X, first)
    precision = np.eye(A.shape[1]) + A.T @ A
    if name == "laplace_diagonal":
        precision = np.diag(np.diag(precision))
    S = J @ np.linalg.solve(precision, J.T)
    values = algorithms.load(name)().functions(task).values
    assert values.shape == (n, 2, 3)
    moves = (values - network.functions(task.mode[None], task.inputs)).reshape(n, 6)
    error = np.sqrt((np.outer(np.diag(S), np.diag(S)) + S**2) / n)
    assert np.all(np.abs(moves.T @ moves / n - S) < 4.5 * error)


def test_laplace_with_a_diagonal_is_that_of_laplace_torch(task, laplace_torch):
    network = task.network
    table = torch.utils.data.TensorDataset(
        torch.from_numpy(network.X), torch.from_numpy(network.y)[:, None]
    )
    oracle = laplace_torch(
        InLayers(network, task.mode),
        "regression",
        subset_of_weights="all",
        hessian_structure="diag",
        sigma_noise=sqrt(network.likelihood.noise),
        prior_precision=1.0,
    )
    oracle.fit(torch.utils.data.DataLoader(table, batch_size=len(network.y)))
    A = network.curvature_rows(task.mode, network.X)
    expected = oracle.posterior_precision.detach().numpy()
    np.testing.assert_allclose(1 + np.sum(A**2, axis=0), expected, rtol=1e-5)
    _, variance = oracle(torch.from_numpy(task.inputs), pred_type="glm")
    found = algorithms.load("laplace_diagonal")().functions(task)
    np.testing.assert_allclose(found.sd**2, variance.detach().numpy()[:, 0, 0], rtol=1e-5)


@pytest.mark.parametrize("rows", [3, 8, 20])
def test_laplace_is_the_same_by_the_smaller_matrix(rows):
    """There are fewer rows than weights, as many, and more."""
    random = np.random.default_rng(0)
    A, J = random.normal(size=(rows, 8)), random.normal(size=(5, 8))
    expected = np.diag(J @ np.linalg.inv(np.eye(8) + A.T @ A) @ J.T)
    np.testing.assert_allclose(DenseSpread(A).variances_along(J), expected, rtol=1e-9)


@pytest.mark.parametrize("rows", [8, 24])  # fewer rows than weights, and more
def test_the_low_rank_precision_has_the_leading_eigenvectors(rows):
    task = tiny_networks.task_of(tiny_networks.trainings_of(rows=rows))
    A = task.network.curvature_rows(task.mode, task.network.X)
    eigenvalues, V = np.linalg.eigh(A.T @ A)
    precision = np.eye(A.shape[1]) + V[:, -2:] * eigenvalues[-2:] @ V[:, -2:].T
    J = task.network.jacobian(task.mode, task.inputs)
    expected = np.sqrt(np.sum(J * np.linalg.solve(precision, J.T).T, axis=1))
    found = algorithms.load("laplace_low_rank")().functions(task)
    np.testing.assert_allclose(found.sd, expected, rtol=1e-8)
    whole = algorithms.load("laplace_low_rank")(factors=1000).functions(task)
    exact = algorithms.load("laplace_all")().functions(task)
    np.testing.assert_allclose(whole.sd, exact.sd, rtol=1e-6)
