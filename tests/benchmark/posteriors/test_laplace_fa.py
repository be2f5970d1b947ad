"""Tests of the Laplace approximation in O(DK) against that with a dense covariance."""

from __future__ import annotations

import numpy as np
import pytest
from support import tiny_networks
from support.gp_tasks import gp_task

from onlinefa_benchmark import algorithms


@pytest.fixture(scope="module")
def task():
    return gp_task(8)  # 25 weights and 20 rows


def functions_of(name, task, **settings):
    return algorithms.load(name)(**settings).functions(task)


def test_enough_factors_give_the_laplace_approximation_of_all_weights(task):
    """Twenty rows have at most twenty principal components."""
    expected = functions_of("laplace_all", task)
    found = functions_of("laplace_fa", task, factors=20)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-12)
    np.testing.assert_allclose(found.sd, expected.sd, rtol=1e-6)


def test_a_further_pass_over_the_table_changes_nothing(task):
    once, twice = (functions_of("laplace_fa", task, factors=20, epochs=n) for n in (1, 2))
    np.testing.assert_allclose(twice.sd, once.sd, rtol=1e-6)


def test_no_factors_would_be_the_diagonal_approximation(task):
    """The variance of each column, factors and noise together, is that of the gradients."""
    network = task.network
    spread = algorithms.load("laplace_fa")(factors=2).spread(
        task, task.mode, np.random.default_rng(0)
    )
    A = network.curvature_rows(task.mode, network.X)
    np.testing.assert_allclose(np.diag(spread.precision()), 1 + np.sum(A**2, axis=0), rtol=1e-9)


@pytest.mark.parametrize("estimator", ["incremental_pca", "recursive_em", "shrunk_em"])
def test_any_estimator_is_closer_than_the_diagonal_alone(task, estimator):
    exact = functions_of("laplace_all", task).sd
    diagonal = functions_of("laplace_diagonal", task).sd
    found = functions_of("laplace_fa", task, factors=8, estimator=estimator, epochs=20).sd
    assert np.abs(found / exact - 1).max() < np.abs(diagonal / exact - 1).max() / 2


def test_more_factors_are_closer_to_the_dense_covariance(task):
    exact = functions_of("laplace_all", task).sd
    errors = [
        np.abs(functions_of("laplace_fa", task, factors=K).sd / exact - 1).max()
        for K in (1, 4, 10, 19)
    ]
    assert errors == sorted(errors, reverse=True)


def test_the_empirical_fisher_information_is_that_of_the_observed_targets(task):
    network, mode = task.network, task.mode
    J, residuals = network.jacobian(mode, network.X), network.functions(mode[None], network.X)[0]
    G = J * ((residuals - network.y) / network.likelihood.noise)[:, None]
    expected = np.eye(len(mode)) + G.T @ G
    spread = algorithms.load("laplace_fa")(factors=20, labels="observed").spread(
        task, mode, np.random.default_rng(0)
    )
    np.testing.assert_allclose(spread.precision(), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["laplace_fa", "laplace_all"])
def test_a_mixture_has_the_moments_of_its_components(task, name):
    """The mean is the average; the variance is that within plus that between the components."""
    found = functions_of(f"multi_{name}", task, runs=3, **({"factors": 20} if "fa" in name else {}))
    modes, network = task.modes(3), task.network
    A = [network.curvature_rows(mode, network.X) for mode in modes]
    J = [network.jacobian(mode, task.inputs) for mode in modes]
    within = [
        np.diag(j @ np.linalg.inv(np.eye(a.shape[1]) + a.T @ a) @ j.T)
        for a, j in zip(A, J, strict=True)
    ]
    means = network.functions(modes, task.inputs)
    np.testing.assert_allclose(found.mean, means.mean(axis=0), rtol=1e-9)
    expected = np.mean(within, axis=0) + means.var(axis=0)
    np.testing.assert_allclose(found.sd**2, expected, rtol=1e-5)


def test_draws_for_classes_follow_the_covariance_of_the_laplace_approximation():
    """With C outputs, the information is random; many passes determine it."""
    task = tiny_networks.task_of(tiny_networks.trainings_of(3))
    network, mode = task.network, task.mode
    A = network.curvature_rows(mode, network.X)
    expected = np.eye(len(mode)) + A.T @ A
    spread = algorithms.load("laplace_fa")(factors=len(mode) - 1, epochs=400).spread(
        task, mode, np.random.default_rng(0)
    )
    error = np.linalg.norm(spread.precision() - expected) / np.linalg.norm(expected)
    assert error < 0.1


def test_a_factor_analysis_of_draws_has_their_variances(task):
    """Factors and noise together have the variances of 2000 draws."""
    network, mode = task.network, task.mode
    A = network.curvature_rows(mode, network.X)
    expected = np.diag(np.linalg.inv(np.eye(len(mode)) + A.T @ A))
    spread = algorithms.load("laplace_draws")().spread(task, mode, np.random.default_rng(0))
    found = spread.variances_along(np.eye(len(mode)))
    # The standard error of a variance of 2000 draws is sqrt(2 / 2000), three per cent.
    np.testing.assert_allclose(found, expected, rtol=0.15)
