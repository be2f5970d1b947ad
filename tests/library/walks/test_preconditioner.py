"""Tests of preconditioners and of the second moment of whitened gradients, against dense ones."""

from __future__ import annotations

import numpy as np
import pytest

from onlinefa import LowRankGaussian
from onlinefa.walks import GradientMoment, Preconditioner
from onlinefa.walks.gradient_moment import GradientAverages

RANDOM = np.random.default_rng(0)
D, K = 6, 2
VECTORS = RANDOM.normal(size=(4, D))


def gaussian(K=K, seed=1):
    random = np.random.default_rng(seed)
    return LowRankGaussian(
        random.normal(size=D), random.normal(size=(D, K)), random.uniform(0.5, 2, size=D)
    )


def dense(P):
    V = P.directions
    middle = np.eye(P.dimension) + V * P.excess @ V.T
    return P.scale[:, None] * middle * P.scale


PRECONDITIONERS = {
    "diagonal": Preconditioner.diagonal(RANDOM.uniform(0.1, 3, size=D)),
    "covariance": Preconditioner.of_covariance(gaussian()),
    "two-sided": Preconditioner.two_sided(gaussian(), gaussian(seed=2)),
}


@pytest.mark.parametrize("P", PRECONDITIONERS.values(), ids=PRECONDITIONERS)
def test_products_are_those_of_the_dense_matrix(P):
    L = P.apply_root(np.eye(D)).T
    np.testing.assert_allclose(L @ L.T, dense(P), atol=1e-12)
    np.testing.assert_allclose(P.apply(VECTORS), VECTORS @ dense(P), atol=1e-12)
    np.testing.assert_allclose(P.apply_root(VECTORS), VECTORS @ L.T, atol=1e-12)
    np.testing.assert_allclose(P.apply_root_transposed(VECTORS), VECTORS @ L, atol=1e-12)
    np.testing.assert_allclose(P.apply(VECTORS[0]), dense(P) @ VECTORS[0], atol=1e-12)


def test_a_covariance_is_its_own_preconditioner():
    P = Preconditioner.of_covariance(gaussian())
    np.testing.assert_allclose(dense(P), gaussian().covariance(), atol=1e-12)


def test_two_sides_that_agree_give_the_covariance():
    covariance = gaussian().covariance()
    weights = LowRankGaussian.of_covariance(np.zeros(D), covariance)
    gradients = LowRankGaussian.of_covariance(np.zeros(D), np.linalg.inv(covariance))
    np.testing.assert_allclose(
        dense(Preconditioner.two_sided(weights, gradients)), covariance, atol=1e-9
    )


def test_two_sides_that_differ_by_a_factor_give_its_root():
    # Batches of gradients multiply their covariance; P then is between both inverses.
    covariance = gaussian().covariance()
    weights = LowRankGaussian.of_covariance(np.zeros(D), covariance)
    gradients = LowRankGaussian.of_covariance(np.zeros(D), 9 * np.linalg.inv(covariance))
    np.testing.assert_allclose(
        dense(Preconditioner.two_sided(weights, gradients)), covariance / 3, atol=1e-9
    )


@pytest.mark.parametrize("P", PRECONDITIONERS.values(), ids=PRECONDITIONERS)
def test_a_moment_of_a_gaussian_is_that_of_the_dense_matrix(P):
    gradients = gaussian(seed=3)
    L, V = P.apply_root(np.eye(D)).T, P.directions
    W = L.T @ gradients.covariance() @ L
    moment = GradientMoment.of_gaussian(P, gradients)
    np.testing.assert_allclose(moment.inside, V.T @ W @ V, atol=1e-10)
    outside = np.trace(W) - np.trace(V.T @ W @ V)
    assert moment.outside * (D - V.shape[1]) == pytest.approx(outside)
    assert moment.largest == pytest.approx(np.linalg.eigvalsh(W)[-1], rel=1e-3)


def rows_with_covariance(covariance, mean):
    """Return rows whose mean and second moment around it are exactly those given."""
    L = np.linalg.cholesky(covariance)
    return np.sqrt(D) * np.vstack([L.T, -L.T]) + mean


def test_averages_replace_the_gaussian_along_the_directions():
    P, gradients = PRECONDITIONERS["two-sided"], gaussian(seed=3)
    rows = rows_with_covariance(gradients.covariance(), gradients.mean)
    averages = GradientAverages(P, gradients)
    averages.absorb(rows[:3])
    averages.absorb(rows[3:])
    moment, same = averages.moment(), GradientMoment.of_gaussian(P, gradients)
    np.testing.assert_allclose(moment.inside, same.inside, atol=1e-10)
    assert moment.outside == pytest.approx(same.outside)

    larger = GradientAverages(P, gradients)
    larger.absorb(10 * rows)
    largest = np.linalg.eigvalsh(same.inside)[-1]
    assert larger.moment().largest == pytest.approx(100 * largest)
