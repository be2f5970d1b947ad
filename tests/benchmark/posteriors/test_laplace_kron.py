"""Tests of the Laplace approximation with Kronecker factors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from support.tiny_networks import task_of, trainings_of

from onlinefa_benchmark import algorithms
from onlinefa_benchmark.posteriors.laplace_kron import LaplaceKron, make_module


@pytest.fixture(scope="module", autouse=True)
def package():
    if algorithms.missing_package("laplace_kron"):
        pytest.skip("laplace-torch is not installed")


@pytest.fixture(scope="module")
def task():
    return task_of(trainings_of())


@pytest.mark.parametrize("activation", ["erf", "relu"])
def test_the_module_is_the_network(task, activation):
    network = replace(task.network, activation=activation)
    found = make_module(network, task.mode)(torch.from_numpy(task.inputs).float())
    expected = network.functions(task.mode[None], task.inputs)[0]
    np.testing.assert_allclose(found.detach()[:, 0], expected, atol=1e-5)


def test_with_one_row_the_factors_are_exact(task):
    """The Gauss-Newton matrix of a layer is then one Kronecker product; layers are independent."""
    network = replace(task.network, X=task.network.X[:1], y=task.network.y[:1])
    found = LaplaceKron().functions(replace(task, network=network))
    A, J = network.curvature_rows(task.mode, network.X), network.jacobian(task.mode, task.inputs)
    last, D = network.last_layer, network.dimension
    variance = np.zeros(len(task.inputs))
    # laplace-torch has separate blocks for the weights and the bias of a layer.
    for block in (slice(0, last), slice(last, D - 1), slice(D - 1, D)):
        precision = np.eye(block.stop - block.start) + A[:, block].T @ A[:, block]
        variance += np.sum(J[:, block] * np.linalg.solve(precision, J[:, block].T).T, axis=1)
    np.testing.assert_allclose(found.sd, np.sqrt(variance), rtol=1e-3)
    np.testing.assert_allclose(
        found.mean, network.functions(task.mode[None], task.inputs)[0], atol=1e-5
    )


def test_classes_are_refused():
    with pytest.raises(TypeError, match="Gaussian noise only"):
        LaplaceKron().functions(task_of(trainings_of(3)))
