"""Tests of the compiled online estimators against a transcription of Algorithms 1 and 2."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.literal import (
    algorithm_1,
    algorithm_2,
    full_noise,
    gradient_of_beta,
    gradient_of_factors,
    latent_posterior,
)
from onlinefa import FitDiverged, OnlineEM, OnlineSGA
from onlinefa.kernels import online_sga

T = 80
SETTINGS = [(2, 1, 0), (7, 1, 5), (6, 3, 0), (6, 3, 40), (9, 4, 1), (12, 10, 11)]
RATES = {1: 0.01, 30: 0.0001}


def long_enough(warm_up, K, scale):
    """Return a warm-up of Algorithm 2 after which eight digits can be compared.

    Without one it divides zero by zero; that case has its own test. On rows of a large scale it
    takes K deviations, K + 1 observations: fewer leave F nearly of a lower rank than K, and the
    path magnifies rounding errors, those of the transcription as much as any other.
    """
    return max(warm_up, 1 if scale == 1 else K + 1)


# -- helpers -----------------------------------------------------------------------------------


def factor_rows(D, K, scale=1, seed=3):
    """T observations of a factor model whose mean is not zero."""
    random = np.random.default_rng(seed)
    signal = random.normal(size=(T, K)) @ random.normal(size=(K, D))
    noise = random.normal(size=(T, D)) * random.uniform(0.5, 1.5, size=D)
    return scale * (signal + noise + random.normal(size=D))


def orthonormal(D, K, seed=5):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(D, K)))[0]


def result(model):
    gaussian = model.gaussian()
    return gaussian.mean, gaussian.factors, gaussian.noise


def assert_same_path(model, rows, path):
    """Compare after every row, because errors may cancel or decay until the end."""
    for t, (row, expected) in enumerate(zip(rows, path, strict=True), start=1):
        found = result(model.partial_fit(row[None]))
        for name, value, reference in zip(("mean", "F", "psi"), found, expected, strict=True):
            assert np.isfinite(reference).all()
            np.testing.assert_allclose(
                value,
                reference,
                rtol=1e-8,
                atol=1e-10 * np.abs(reference).max(),
                err_msg=f"{name} after observation {t}",
            )


def assert_identical(found, expected):
    for value, reference in zip(found, expected, strict=True):
        assert np.array_equal(value, reference)


def make(estimator, **settings):
    if estimator is OnlineSGA:
        settings = {"learning_rate": 0.01} | settings
    return estimator(**settings)


both = pytest.mark.parametrize("estimator", [OnlineSGA, OnlineEM])


# -- the whole path ----------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1, 30])
@pytest.mark.parametrize(("D", "K", "warm_up"), SETTINGS)
def test_online_sga_is_algorithm_1(D, K, warm_up, scale):
    rows, Q = factor_rows(D, K, scale), orthonormal(D, K)
    model = OnlineSGA(K, learning_rate=RATES[scale], warm_up=warm_up, init_factors=Q)
    assert_same_path(model, rows, algorithm_1(rows, Q, warm_up, RATES[scale]))
    assert np.abs(model.gaussian().factors - Q).max() > 0.01
    assert np.abs(model.gaussian().noise - 1).max() > 0.01


@pytest.mark.parametrize("scale", [1, 30])
@pytest.mark.parametrize(("D", "K", "warm_up"), SETTINGS)
def test_online_em_is_algorithm_2(D, K, warm_up, scale):
    rows, Q = factor_rows(D, K, scale), orthonormal(D, K)
    warm_up = long_enough(warm_up, K, scale)
    model = OnlineEM(K, warm_up=warm_up, init_factors=Q)
    assert_same_path(model, rows, algorithm_2(rows, Q, warm_up))
    assert np.abs(model.gaussian().factors - Q).max() > 0.01
    assert np.abs(model.gaussian().noise - 1).max() > 0.01


@pytest.mark.parametrize("K", [1, 3])
def test_online_em_needs_a_warm_up(K):
    # The first deviation is zero, so without a warm-up Algorithm 2 sets F and psi to zero, and
    # divides one by the other at the second observation.
    D = 6
    rows, Q = factor_rows(D, K), orthonormal(D, K)
    _, F, psi = next(algorithm_2(rows, Q, warm_up=0))
    assert not F.any() and not psi.any()
    with pytest.raises(ValueError, match="warm_up"):
        OnlineEM(K, warm_up=0, init_factors=Q).partial_fit(rows)


# -- the equations -----------------------------------------------------------------------------


def autograd_gradients(d, F, beta):
    import torch

    d = torch.tensor(d)
    F, beta = (torch.tensor(value, requires_grad=True) for value in (F, beta))
    covariance = F @ F.T + torch.diag(torch.exp(beta))
    normal = torch.distributions.MultivariateNormal(torch.zeros_like(d), covariance)
    normal.log_prob(d).backward()
    return F.grad.numpy(), beta.grad.numpy()


@pytest.mark.parametrize(("D", "K"), [(2, 1), (5, 1), (6, 3), (12, 10)])
@pytest.mark.parametrize("spread", [0.1, 2.0])
def test_gradients_are_those_of_the_log_density(D, K, spread):
    random = np.random.default_rng(D)
    d, F = 3 * random.normal(size=D), random.normal(size=(D, K))
    beta = spread * random.normal(size=D)
    psi = np.exp(beta)
    Sigma, m = latent_posterior(F, psi, d)
    expected = autograd_gradients(d, F, beta)
    tolerance = {"rtol": 1e-8, "atol": 1e-8}
    rate, scratch = 0.01, (np.full((K, D), np.nan), np.full((4, D), np.nan))
    for preconditioned, unit in ((False, 1), (True, psi[:, None])):
        new_F, new_psi = F.T.copy(), psi.copy()
        assert online_sga.ascend(
            d,
            np.zeros(D),
            Sigma + np.outer(m, m),
            m,
            rate,
            preconditioned,
            0,
            D,
            *scratch,
            new_F,
            new_psi,
        )
        np.testing.assert_allclose((new_F.T - F) / rate, unit * expected[0], **tolerance)
        np.testing.assert_allclose((np.log(new_psi) - beta) / rate, expected[1], **tolerance)
    arguments = F, psi, d, Sigma, m
    np.testing.assert_allclose(gradient_of_factors(*arguments), expected[0], **tolerance)
    np.testing.assert_allclose(gradient_of_beta(*arguments), expected[1], **tolerance)


@pytest.mark.parametrize(("D", "K"), [(2, 1), (6, 3), (12, 10)])
@pytest.mark.parametrize("seed", range(3))
def test_the_full_noise_equation_equals_the_simplified_one(D, K, seed):
    random = np.random.default_rng(seed)
    root = random.normal(size=(K, K))
    H = root @ root.T + 0.1 * np.eye(K)
    A, d2 = random.normal(size=(D, K)), random.uniform(1, 9, size=D)
    F = A @ np.linalg.inv(H)
    collapsed = d2 - (F * A).sum(axis=1)
    atol = 1e-12 * np.abs(collapsed).max()
    np.testing.assert_allclose(collapsed, full_noise(F, A, H, d2), rtol=1e-9, atol=atol)


# -- warm-up, initialisation, blocks -----------------------------------------------------------


@both
@pytest.mark.parametrize("warm_up", [1, 25])
def test_warm_up_changes_only_the_mean(estimator, warm_up):
    D, K = 6, 3
    rows, Q = factor_rows(D, K), orthonormal(D, K)
    model = make(estimator, n_components=K, warm_up=warm_up, init_factors=Q)
    for t in range(1, warm_up + 1):
        mean, factors, noise = result(model.partial_fit(rows[t - 1 : t]))
        np.testing.assert_allclose(mean, rows[:t].mean(axis=0), rtol=1e-12, atol=1e-14)
        assert np.array_equal(factors, Q)
        assert np.array_equal(noise, np.ones(D))
    _, factors, noise = result(model.partial_fit(rows[warm_up : warm_up + 1]))
    assert not np.array_equal(factors, Q)
    assert (noise != 1).all()


@both
def test_random_initial_factors_are_orthonormal(estimator):
    D, K = 9, 4
    rows = factor_rows(D, K)

    def initial_factors(seed):
        model = make(estimator, n_components=K, warm_up=T + 1, random_state=seed)
        return model.fit(rows).gaussian().factors

    F = initial_factors(11)
    assert F.shape == (D, K)
    np.testing.assert_allclose(F.T @ F, np.eye(K), atol=1e-14)
    assert np.array_equal(F, initial_factors(11))
    assert not np.allclose(F, initial_factors(12))


@both
@pytest.mark.parametrize(
    "cuts",
    [
        range(1, T),
        range(3, T, 3),
        range(7, T, 7),
        range(33, T, 33),
        [1, 2, 5, 16, 17, 40, 79],
        [],
    ],
    ids=["rows", "threes", "sevens", "thirty-threes", "uneven", "whole"],
)
def test_results_do_not_depend_on_blocks(estimator, cuts):
    D, K = 7, 3
    rows, Q = factor_rows(D, K), orthonormal(D, K)
    settings = {"n_components": K, "warm_up": 16, "init_factors": Q}
    model = make(estimator, **settings)
    for block in np.split(rows, list(cuts)):
        model.partial_fit(block)
    assert_identical(result(model), result(make(estimator, **settings).fit(rows)))


# -- divergence --------------------------------------------------------------------------------


def is_finite_after(model, row):
    """Learn from a row; return False if the fit has diverged, and check that results are finite."""
    try:
        values = result(model.partial_fit(row[None]))
    except FitDiverged:
        return False
    assert all(np.isfinite(value).all() for value in values)
    return True


too_fast = pytest.mark.parametrize(
    ("learning_rate", "scale"),
    [
        pytest.param(1e3, 1e6, id="psi overflows"),
        pytest.param(1e3, 1e150, id="everything overflows"),
        pytest.param(1e-3, 1e4, id="psi overflows at the default rate"),
        pytest.param(100, 5, id="psi overflows and beta falls again"),
        pytest.param(2000, 1e-3, id="psi underflows to zero"),
    ],
)


@too_fast
def test_a_diverged_fit_stays_diverged(learning_rate, scale):
    rows = scale * np.random.default_rng(0).normal(size=(60, 4))
    model = OnlineSGA(2, learning_rate=learning_rate, warm_up=2, init_factors=orthonormal(4, 2))
    answers = [is_finite_after(model, row) for row in rows]
    first_failure = answers.index(False)
    assert not any(answers[first_failure:])
    for ask in (model.gaussian, lambda: model.mean_, lambda: model.score(rows)):
        with pytest.raises(FitDiverged):
            ask()


@pytest.mark.parametrize("scale", [1e6, 1e150])
def test_fit_resets_a_diverged_estimator(scale):
    D, K = 6, 2
    rows = factor_rows(D, K)
    model = OnlineSGA(K, learning_rate=1e3, warm_up=2, random_state=0)
    with pytest.raises(FitDiverged):
        model.fit(scale * rows).gaussian()
    # A lower rate does not repair a diverged state; only `fit` resets it.
    model.set_params(learning_rate=0.01)
    with pytest.raises(FitDiverged):
        model.partial_fit(rows).gaussian()
    fresh = OnlineSGA(K, learning_rate=0.01, warm_up=2, random_state=0)
    assert_identical(result(model.fit(rows)), result(fresh.fit(rows)))
