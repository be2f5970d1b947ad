"""Tests of the selection of prior and noise by Laplace's evidence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from support.gp_tasks import gp_task

from onlinefa_benchmark.models import evidence, mode_search
from onlinefa_benchmark.models.evidence import (
    Stage,
    log_evidence,
    maximise_evidence,
    trace_updates,
)
from onlinefa_benchmark.models.likelihoods import Gaussian, HeteroscedasticGaussian
from onlinefa_benchmark.models.mode_search import find_mode, sampled_curvature_rows


def constant_network(rows=8, noise=0.3):
    """Return a posterior that is linear: with inputs of zero the output is the bias."""
    network = gp_task(3, rows=rows, noise=noise).network
    return replace(network, X=np.zeros_like(network.X), y=network.y + 2)


def starts_of(network, number):
    return np.random.default_rng(4).normal(size=(number, network.dimension))


def test_the_evidence_of_a_linear_network_is_exact():
    network = constant_network()
    N, sigma = len(network.y), network.prior.sigma_b
    mode = find_mode(network, starts_of(network, 1)[0], 200)
    exact = multivariate_normal(np.zeros(N), 0.3 * np.eye(N) + sigma**2).logpdf(network.y)
    assert log_evidence(network, mode.theta) == pytest.approx(exact, abs=1e-4)


def test_the_updates_of_a_linear_network_lead_to_the_maximum_of_the_exact_evidence(monkeypatch):
    """y ~ N(0, noise I + s 11'): the likelihood has its maximum at the moments of y.

    With the mean m and the sum S of squared deviations, noise = S / (N - 1) and
    noise + N s = N m^2.
    """
    monkeypatch.setattr(evidence, "_TOLERANCE", 1e-6)
    network = constant_network()
    *_, last = trace_updates(network, starts_of(network, 1), rounds=300)
    y, N = network.y, len(network.y)
    noise = np.sum((y - y.mean()) ** 2) / (N - 1)
    assert last.network.likelihood.noise == pytest.approx(noise, rel=1e-3)
    assert last.network.prior.sigma_b**2 == pytest.approx(y.mean() ** 2 - noise / N, rel=1e-3)


@pytest.mark.parametrize("width", [3, 20])  # fewer weights than rows, and more
def test_the_derivatives_of_the_evidence_vanish_where_the_updates_end(width, monkeypatch):
    """With A fixed at the mode, as the updates assume."""
    monkeypatch.setattr(evidence, "_TOLERANCE", 1e-5)
    network = gp_task(width, rows=30).network
    *_, last = trace_updates(network, starts_of(network, 1), rounds=200)
    found = last.network
    theta, noise = find_mode(found, last.thetas[0], 1000).theta, found.likelihood.noise
    A = found.curvature_rows(theta, network.X)
    residuals = found.functions(theta[None], network.X)[0] - network.y
    D = network.dimension

    def value(log_alpha, log_noise):
        """Return the log evidence with the weights themselves fixed, from dense matrices."""
        scale, ratio = np.exp(log_alpha), noise / np.exp(log_noise)
        hessian = np.eye(D) + A.T @ A * ratio / scale
        terms = [
            residuals @ residuals / np.exp(log_noise),
            len(residuals) * log_noise,
            scale * theta @ theta,
            np.linalg.slogdet(hessian)[1],
        ]
        return -sum(terms) / 2

    at, step = (0.0, np.log(noise)), 1e-4
    for direction in np.eye(2) * step:
        slope = (value(*(at + direction)) - value(*(at - direction))) / (2 * step)
        assert abs(slope) < 0.02  # in nats per factor of e


def test_the_stage_with_the_largest_evidence_is_taken():
    """With 2000 weights for 30 rows the updates pass the maximum of the evidence."""
    network = gp_task(500, rows=30).network
    starts = starts_of(network, 2)
    stages = list(trace_updates(network, starts, rounds=8))
    evidences = [stage.log_evidence for stage in stages]
    best = int(np.argmax(evidences))
    found = maximise_evidence(network, starts, rounds=8)
    assert found.log_evidence == evidences[best]
    np.testing.assert_array_equal(found.thetas, stages[best].thetas)
    of_networks = [log_evidence(found.network, theta) for theta in found.thetas]
    assert found.log_evidence == pytest.approx(np.mean(of_networks))


def test_the_maximisation_ends_after_three_stages_without_a_larger_evidence(monkeypatch):
    network = gp_task(3).network
    values = iter([1.0, 3.0, 2.0, 2.5, 2.9, 9.0])

    def stages(*arguments):
        for value in values:
            yield Stage(network, np.zeros((1, network.dimension)), value)

    monkeypatch.setattr(evidence, "trace_updates", stages)
    assert maximise_evidence(network, starts_of(network, 1), 6).log_evidence == 3.0
    assert next(values) == 9.0  # was not computed


def test_several_networks_share_prior_and_noise():
    network = gp_task(5, rows=30).network
    starts = starts_of(network, 3)
    first, second, *_ = trace_updates(network, starts, rounds=2)
    gamma = squares = residuals = 0.0
    for theta in first.thetas:
        A = network.curvature_rows(theta, network.X)
        information = A.T @ A
        identity = np.eye(network.dimension)
        gamma += np.trace(information @ np.linalg.inv(identity + information))
        squares += theta @ theta
        residuals += np.sum((network.functions(theta[None], network.X)[0] - network.y) ** 2)
    ratio = (second.network.prior.omega / network.prior.omega) ** 2
    assert ratio == pytest.approx(squares / gamma)
    assert second.network.likelihood.noise == pytest.approx(residuals / (3 * 30 - gamma))


def test_noise_is_found_where_it_is_known():
    random = np.random.default_rng(8)
    network = gp_task(10, rows=400).network
    y = np.sin(2 * network.X[:, 0]) + 0.3 * random.normal(size=400)
    network = replace(network, y=y, likelihood=Gaussian(1.0))
    found = maximise_evidence(network, starts_of(network, 1), rounds=40).network
    # The variance estimate of 400 residuals has a standard error of sqrt(2 / 400) of its value.
    assert found.likelihood.noise == pytest.approx(0.09, rel=3 * np.sqrt(2 / 400))


def test_the_curvature_of_many_rows_is_estimated_from_a_sample(monkeypatch):
    network = gp_task(3, rows=20).network
    network = replace(network, X=np.repeat(network.X, 4, axis=0), y=np.repeat(network.y, 4))
    theta = starts_of(network, 1)[0]
    whole = sampled_curvature_rows(network, theta)
    monkeypatch.setattr(mode_search, "_MOST_ROWS", 20)
    some = sampled_curvature_rows(network, theta)
    assert (len(whole), len(some)) == (80, 20)
    np.testing.assert_allclose(some.T @ some, whole.T @ whole, rtol=1e-10)


def two_outputs(noise=0.3, spread=0.7, width=5, rows=30):
    """Return a posterior of a network whose second output is the log variance."""
    network = gp_task(width, rows=rows).network
    return replace(network, likelihood=HeteroscedasticGaussian(noise, spread))


def test_hyperparameters_of_two_outputs_are_updated_by_their_own_weights():
    """Spread and prior precision by MacKay's update, from dense matrices."""
    network = two_outputs()
    first, second, *_ = trace_updates(network, starts_of(network, 2), rounds=2)
    of_logs = network.shape.select_output(1)
    sums = {True: [0.0, 0.0], False: [0.0, 0.0]}  # gamma and theta'theta of each group
    for theta in first.thetas:
        A = network.curvature_rows(theta, network.X)
        effective = 1 - np.diag(np.linalg.inv(np.eye(len(theta)) + A.T @ A))
        for is_log, mask in ((True, of_logs), (False, ~of_logs)):
            sums[is_log][0] += effective[mask].sum()
            sums[is_log][1] += (theta[mask] ** 2).sum()
    old, new = network.likelihood, second.network.likelihood
    variance = sums[False][1] / sums[False][0]
    assert (second.network.prior.omega / network.prior.omega) ** 2 == pytest.approx(variance)
    # The variance of a weight of the log variance, in its own units, is spread^2 omega^2.
    of_spread = (new.spread * second.network.prior.omega) ** 2
    before = (old.spread * network.prior.omega) ** 2
    assert of_spread / before == pytest.approx(sums[True][1] / sums[True][0])
    assert new.noise == old.noise


def test_an_update_of_hyperparameters_leaves_the_functions_as_they_are(monkeypatch):
    network = two_outputs()
    monkeypatch.setattr(evidence, "_ITERATIONS", 0)
    first, second, *_ = trace_updates(network, starts_of(network, 1), rounds=2)
    outputs = [
        each.network.functions(each.thetas, network.X)[0] * [1, each.network.likelihood.spread]
        for each in (first, second)
    ]
    np.testing.assert_allclose(*outputs, rtol=1e-10)


def test_the_evidence_of_two_outputs_without_spread_is_that_of_one():
    """Weights of the second output have no influence, and a posterior equal to their prior."""
    one = gp_task(5, rows=30).network
    two = replace(one, likelihood=HeteroscedasticGaussian(one.likelihood.noise, 0.0))
    theta = starts_of(one, 1)
    found = log_evidence(two, one.shape.add_output(theta)[0])
    assert found == pytest.approx(log_evidence(one, theta[0]), rel=1e-12)


def heteroscedastic_table(network, rows, random):
    """Return targets whose standard deviation grows tenfold over the inputs, and its logarithm."""
    logs = 2 * np.log(0.05) + 2 * np.log(10) * np.linspace(0, 1, rows)
    return np.sin(2 * network.X[:, 0]) + np.exp(logs / 2) * random.normal(size=rows), logs


def with_inputs_in_order(rows):
    """Return a posterior of a table with one input, in increasing order."""
    network = gp_task(10, rows=rows).network
    X = network.X.copy()
    X[:, :-1] = np.linspace(-2, 2, rows)[:, None]
    return replace(network, X=X)


def test_the_variance_of_each_input_is_found_where_it_is_known():
    network = with_inputs_in_order(400)
    y, logs = heteroscedastic_table(network, 400, np.random.default_rng(3))
    network = replace(network, y=y, likelihood=HeteroscedasticGaussian(0.1, 0.3))
    found = maximise_evidence(network, starts_of(network, 1), rounds=40)
    spread, noise = found.network.likelihood.spread, found.network.likelihood.noise
    outputs = found.network.functions(found.thetas, network.X)[0][:, 1]
    # A log variance from n residuals has a standard error of sqrt(2 / n); the network has about
    # the flexibility of ten parameters, so that n is about 40.
    error = np.log(noise) + spread * outputs - logs
    assert np.sqrt(np.mean(error**2)) < 2 * np.sqrt(2 / 40)


def test_the_spread_goes_to_zero_where_the_noise_is_constant():
    network = with_inputs_in_order(400)
    y = np.sin(2 * network.X[:, 0]) + 0.3 * np.random.default_rng(5).normal(size=400)
    network = replace(network, y=y, likelihood=HeteroscedasticGaussian(0.09, 0.3))
    found = maximise_evidence(network, starts_of(network, 1), rounds=40)
    outputs = found.network.functions(found.thetas, network.X)[0][:, 1]
    logs = found.network.likelihood.spread * outputs
    assert np.abs(logs).max() < 3 * np.sqrt(2 / 400) * 2
