"""Tests of variational inference against known divergences and posteriors."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
import torch
from support.tiny_networks import CANDIDATES, TRAINING, task_of, trainings_of

from onlinefa.gaussian import LowRankGaussian
from onlinefa_benchmark import algorithms
from onlinefa_benchmark.experiments.network.hyperparameters import Hyperparameters
from onlinefa_benchmark.models.training import Networks
from onlinefa_benchmark.posteriors import vifa
from onlinefa_benchmark.posteriors._factor_family import FactorFamily

SMALL = replace(TRAINING, width=1)  # 3 + 1 + 1 weights


def prior(D):
    return LowRankGaussian(np.zeros(D), np.zeros((D, 0)), np.ones(D))


def family(B, D, K, seed=0):
    random = np.random.default_rng(seed)
    shapes = (B, D), (B, D, K), (B, D)
    mean, factors, logs = (torch.from_numpy(random.normal(size=shape)) for shape in shapes)
    return FactorFamily.at(mean, factors, logs.exp())


def gaussians(some):
    return [LowRankGaussian(*member) for member in some.members()]


def fitted(name, steps, task, seed):
    (member,) = algorithms.load(name)(steps=steps).fit([task], np.random.default_rng(seed))
    return LowRankGaussian(*member)


@pytest.mark.parametrize("K", [0, 3])
def test_the_divergence_is_that_of_each_gaussian_from_the_prior(K):
    some = family(4, 6, K)
    expected = [one.kl(prior(6)) for one in gaussians(some)]
    np.testing.assert_allclose(some.divergence().detach().numpy(), expected, rtol=1e-10)


def test_the_prior_has_no_divergence_from_itself():
    same = FactorFamily.at(torch.zeros(2, 5), torch.zeros(2, 5, 3), torch.ones(2, 5))
    np.testing.assert_array_equal(same.divergence().detach().numpy(), 0)


@pytest.mark.parametrize("K", [0, 3])
def test_draws_have_the_mean_and_the_covariance_of_each(K):
    """The product of two Gaussians has the variance s_ii s_jj + s_ij^2."""
    some, n = family(2, 4, K), 40_000
    draws = some.draw(n, torch.Generator().manual_seed(1)).detach().numpy()
    for rows, one in zip(draws, gaussians(some), strict=True):
        S = one.covariance()
        error = np.sqrt(np.diag(S) / n)
        assert np.all(np.abs(rows.mean(axis=0) - one.mean) < 4.5 * error)
        centred = rows - one.mean
        error = np.sqrt((np.outer(np.diag(S), np.diag(S)) + S**2) / n)
        assert np.all(np.abs(centred.T @ centred / n - S) < 4.5 * error)


@pytest.fixture
def quadratic(monkeypatch):
    """Replace the misfit by that of a linear model, |A theta - t|^2 / 2, over N."""
    A, t = np.random.default_rng(2).normal(size=(3, 5)), np.array([1.0, -1.0, 0.5])

    def misfit_gradient(self, theta, rows):
        residuals = theta @ self.single(A).T - self.single(t)
        return residuals @ self.single(A) / len(self.first.y)

    monkeypatch.setattr(Networks, "misfit_gradient", misfit_gradient)
    precision = np.eye(5) + A.T @ A
    return np.linalg.solve(precision, A.T @ t), precision


@pytest.mark.slow
def test_with_all_factors_it_finds_a_gaussian_posterior(quadratic):
    mean, precision = quadratic
    task = task_of(trainings_of(training=SMALL), K=4)
    found = fitted("vifa", 800, task, 3)
    exact = LowRankGaussian.of_covariance(mean, np.linalg.inv(precision))
    assert found.rank == 4
    assert found.kl(exact) < 0.02


@pytest.mark.slow
def test_without_factors_it_finds_the_conditional_variance_of_each_weight(quadratic):
    """The variances are one over the precision's diagonal, which is known to be too small."""
    mean, precision = quadratic
    task = task_of(trainings_of(training=SMALL), K=4)
    found = fitted("mean_field", 800, task, 3)
    assert found.rank == 0
    expected = LowRankGaussian(mean, np.zeros((5, 0)), 1 / np.diag(precision))
    assert found.kl(expected) < 0.02
    # No mean-field Gaussian is closer to the posterior than (log |diag(P)| - log |P|) / 2.
    exact = LowRankGaussian.of_covariance(mean, np.linalg.inv(precision))
    gap = (np.sum(np.log(np.diag(precision))) - np.linalg.slogdet(precision)[1]) / 2
    assert found.kl(exact) == pytest.approx(gap, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mean_field", "vifa"])
def test_rows_with_very_large_noise_leave_the_prior(name):
    nothing = [Hyperparameters(1.0, 1e8)]
    task = task_of(trainings_of(candidates=nothing, training=SMALL))
    found = fitted(name, 600, task, 4)
    assert found.kl(prior(5)) < 0.02


def bound(task, gaussian, draws=4000):
    """Estimate the evidence lower bound, up to a constant, and return its standard error too."""
    network = task.network
    thetas = gaussian.sample(draws, np.random.default_rng(5))
    errors = network.functions(thetas, network.X) - network.y
    fits = -np.sum(errors**2, axis=1) / (2 * network.likelihood.noise)
    return fits.mean() - gaussian.kl(prior(network.dimension)), fits.std() / sqrt(draws)


@pytest.mark.slow
def test_with_factors_the_bound_is_larger():
    task = task_of(trainings_of(candidates=CANDIDATES[:1]), K=3)
    without, with_factors = (fitted(name, 800, task, 6) for name in ("mean_field", "vifa"))
    (low, its_error), (high, other_error) = bound(task, without), bound(task, with_factors)
    assert high - low > 4 * np.hypot(its_error, other_error)
    at_the_start = LowRankGaussian(task.mode, np.zeros((len(task.mode), 0)), 0.01 + 0 * task.mode)
    assert bound(task, at_the_start)[0] < low


def test_the_first_factors_maximise_the_bound_of_a_linearised_network(monkeypatch):
    """With mean and noise fixed, no other factors of the same number have a larger bound."""
    monkeypatch.setattr(vifa, "_LONGEST", np.inf)
    task = task_of(trainings_of())
    network, D = task.network, task.network.dimension
    A = network.curvature_rows(task.mode, network.X)
    P, noise = np.eye(D) + A.T @ A, np.random.default_rng(0).uniform(0.5, 1, size=D)

    def bound(F):
        S = F @ F.T + np.diag(noise)
        return (np.linalg.slogdet(S)[1] - np.trace(P @ S)) / 2

    best = vifa.add_factors(network, task.mode, noise, 2)
    assert bound(best) > bound(np.zeros((D, 2)))
    random = np.random.default_rng(1)
    for size in (1e-3, 1e-2, 0.1):
        assert all(bound(best + size * random.normal(size=(D, 2))) < bound(best) for _ in range(20))


def test_first_factors_are_not_longer_than_the_noise():
    task = task_of(trainings_of())
    noise = np.full(task.network.dimension, 1e-4)
    factors = vifa.add_factors(task.network, task.mode, noise, 2)
    np.testing.assert_allclose(np.linalg.norm(factors, axis=0), 0.01)


def test_bounds_are_diagnostics_of_the_functions():
    found = algorithms.load("mean_field")(steps=30).functions(task_of(trainings_of())).diagnostics
    assert found["evidence_lower_bound"] <= found["importance_weighted_bound"]


@pytest.mark.parametrize("name", ["mean_field", "vifa"])
@pytest.mark.parametrize("classes", [None, 3])
def test_several_networks_at_once_have_functions_of_their_own(name, classes):
    trainings = trainings_of(classes)
    tasks = [task_of(trainings, number) for number in (0, 1)]
    posterior = algorithms.load(name)(steps=30)
    posterior.prepare(tasks)
    found = [posterior.timed(task)[0].values for task in tasks]
    for values in found:
        assert values.shape == (10, 7, 3) if classes else (10, 7)
        assert np.isfinite(values).all()
    assert not np.allclose(*found)
    np.testing.assert_array_equal(posterior.timed(tasks[0])[0].values, found[0])


def test_a_task_that_was_not_prepared_is_fitted_when_needed():
    trainings = trainings_of()
    posterior = algorithms.load("vifa")(steps=10)
    posterior.prepare([task_of(trainings, 0)])
    found = posterior.functions(task_of(trainings, 1))
    assert found.values.shape == (10, 7)
    alone = algorithms.load("vifa")(steps=10).functions(task_of(trainings, 1))
    np.testing.assert_array_equal(found.values, alone.values)
