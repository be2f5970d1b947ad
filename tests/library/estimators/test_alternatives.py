"""Tests of stepwise EM, preconditioned gradient ascent and incremental PCA."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from onlinefa import IncrementalPCA, LowRankGaussian, PreconditionedSGA, StepwiseEM

D, K, WARM_UP, T = 7, 2, 15, 60
RANDOM = np.random.default_rng(0)
SIGNAL = RANDOM.normal(size=(T, K)) @ RANDOM.normal(size=(K, D))
ROWS = np.geomspace(0.1, 30, D) * (SIGNAL + RANDOM.normal(size=(T, D)) + 2)
Q = np.linalg.qr(RANDOM.normal(size=(D, K)))[0]

both = pytest.mark.parametrize("algorithm", [StepwiseEM, PreconditionedSGA])


def start():
    """Return the state after the warm-up: half of each variance is noise, half is for factors."""
    half = ROWS[:WARM_UP].var(axis=0) / 2
    return np.sqrt(half)[:, None] * Q, half


def deviations():
    """Return deviations of rows after the warm-up from running means that include the row."""
    return [(t, ROWS[t - 1] - ROWS[:t].mean(axis=0)) for t in range(WARM_UP + 1, T + 1)]


def assert_same_path(model, path):
    """Compare after the warm-up and after every row that follows."""
    for t, (F, psi) in enumerate([start(), *path], start=WARM_UP):
        model.partial_fit(ROWS[t - 1 : t] if t > WARM_UP else ROWS[:t])
        np.testing.assert_allclose(model.mean_, ROWS[:t].mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(model.noise_variance_, psi, rtol=1e-9)
        np.testing.assert_allclose(model.components_.T, F, rtol=1e-8, atol=1e-9)
    assert t == T


@both
def test_a_warm_up_of_one_row_is_refused(algorithm):
    # One row has no variance, and factors that start at zero remain zero.
    with pytest.raises(ValueError, match="warm_up"):
        algorithm(K, warm_up=1, random_state=0).fit(ROWS)


@both
def test_estimates_are_equivariant_to_units_of_columns(algorithm):
    scale = np.geomspace(1e-4, 1e4, D)
    settings = {"warm_up": WARM_UP, "init_factors": Q}
    model, other = (algorithm(K, **settings).fit(X) for X in (ROWS, ROWS * scale))
    np.testing.assert_allclose(other.components_, model.components_ * scale, rtol=1e-8)
    np.testing.assert_allclose(other.noise_variance_, model.noise_variance_ * scale**2, rtol=1e-8)


def stepwise_em(exponent, offset):
    """Keep all statistics in one matrix: the expected second moment of latent z and deviation d."""
    F, psi = start()
    moment = np.block([[np.eye(K), F.T], [F, F @ F.T + np.diag(psi)]])
    moments = []
    for t, d in deviations():
        beta = F.T @ np.linalg.inv(F @ F.T + np.diag(psi))
        z_and_d = np.concatenate([beta @ d, d])
        expected = np.outer(z_and_d, z_and_d)
        expected[:K, :K] += np.eye(K) - beta @ F
        weight = (t + offset) ** -exponent
        moment = (1 - weight) * moment + weight * expected
        moments.append(moment)
        F, psi = maximise(moment)
        mean = np.mean(moments, axis=0)
        G = maximise(mean)[0] @ np.linalg.cholesky(mean[:K, :K])  # E[z z'] goes into the factors
        yield G, np.diag(mean[K:, K:] - G @ G.T)


def maximise(moment):
    """Return the regression of d on z and its residual variances, a Schur complement."""
    F = moment[K:, :K] @ np.linalg.inv(moment[:K, :K])
    return F, np.diag(moment[K:, K:] - F @ moment[:K, K:])


@pytest.mark.parametrize(("exponent", "offset"), [(0.8, 300), (0.6, 0), (1, 0), (0.51, 2.5)])
def test_stepwise_em_equals_em_on_weighted_moments(exponent, offset):
    model = StepwiseEM(K, exponent=exponent, offset=offset, warm_up=WARM_UP, init_factors=Q)
    assert_same_path(model, stepwise_em(exponent, offset))


@pytest.mark.parametrize("exponent", [0.51, 1])
def test_noise_of_stepwise_em_is_positive(exponent):
    rows = np.random.default_rng(3).standard_t(2, size=(300, D)) * np.geomspace(0.01, 100, D)
    model = StepwiseEM(K, exponent=exponent, offset=0, warm_up=2, init_factors=Q).fit(rows[:2])
    assert all((model.partial_fit(row[None]).noise_variance_ > 0).all() for row in rows[2:])


def preconditioned_sga(rate):
    """Take gradients of each row's log density by autograd; multiply that of F by psi."""
    import torch

    F, psi = start()
    beta = np.log(psi)
    for _, d in deviations():
        f, b = (torch.tensor(value, requires_grad=True) for value in (F, beta))
        covariance = f @ f.T + torch.diag(torch.exp(b))
        normal = torch.distributions.MultivariateNormal(torch.zeros_like(b), covariance)
        normal.log_prob(torch.tensor(d)).backward()
        F = F + rate * np.exp(beta)[:, None] * f.grad.numpy()
        beta = beta + rate * b.grad.numpy()
        yield F, np.exp(beta)


@pytest.mark.parametrize("rate", [0.001, 0.03])
def test_preconditioned_sga_follows_the_gradient_times_psi(rate):
    model = PreconditionedSGA(K, learning_rate=rate, warm_up=WARM_UP, init_factors=Q)
    assert_same_path(model, preconditioned_sga(rate))


def excess(pca, n):
    """Return variances (divisor n) of the principal components minus the mean of the others."""
    return (pca.explained_variance_ - pca.noise_variance_) * (n - 1) / n


@pytest.mark.parametrize("n", [D + 1, T])
def test_one_block_equals_pca_plus_diagonal_noise(n):
    pca = PCA(K).fit(ROWS[:n])
    expected = pca.components_.T * excess(pca, n) @ pca.components_
    np.fill_diagonal(expected, ROWS[:n].var(axis=0))
    found = IncrementalPCA(K, block_size=T).fit(ROWS[:n]).get_covariance()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", [2, 3, 20, 21, 22, 23, 41, T])
def test_variances_equal_those_of_the_sample_at_any_time(n):
    model = IncrementalPCA(3, block_size=20).fit(ROWS[:n])
    variances = ROWS[:n].var(axis=0)
    # Rounding is relative to the largest variance and depends on the processor's order of sums.
    np.testing.assert_allclose(
        np.diag(model.get_covariance()), variances, rtol=1e-12, atol=1e-15 * variances.max()
    )


def test_the_mean_residual_variance_is_subtracted_in_many_blocks_as_well():
    rows = LowRankGaussian(np.zeros(D), np.ones((D, 1)), np.full(D, 3.0)).sample(5000, 0)
    model, pca = IncrementalPCA(1, block_size=50).fit(rows), PCA(1).fit(rows)
    np.testing.assert_allclose(np.sum(model.components_**2), excess(pca, 5000)[0], rtol=0.05)
