"""Squared 2-Wasserstein distance of two low-rank plus diagonal covariances, in two ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from onlinefa.gaussian import Array, LowRankGaussian

# Up to the first limit on D, the dense singular value decomposition is faster than the quadrature.
# Up to the second limit it is affordable, and used where the quadrature is slow (many factors) or
# inaccurate (two distributions that are nearly the same).
_DENSE_IS_FASTER = 100
_DENSE_IS_AFFORDABLE = 3000
# Squared distance over total variance. The quadrature's error is about 1e-14 of the total variance.
_NEARLY_THE_SAME = 1e-7
# The quadrature processes this many columns at a time, so that their arrays stay in a cache.
_COLUMNS = 512


def covariance_wasserstein(one: LowRankGaussian, two: LowRankGaussian) -> float:
    """Compute the squared distance in whichever way is fast and accurate for the two covariances.

    Parameters
    ----------
    one, two : LowRankGaussian
        Distributions; their means are ignored.

    Returns
    -------
    squared : float
        The squared distance; rounding may make it slightly negative.
    """
    D, many_factors = one.dimension, 4 * (one.rank + two.rank) > one.dimension
    if D <= _DENSE_IS_FASTER or (many_factors and D <= _DENSE_IS_AFFORDABLE):
        return covariance_wasserstein_dense(one, two)
    squared = covariance_wasserstein_quadrature(one, two)
    nearly_same = squared < _NEARLY_THE_SAME * np.sum(one.variances)
    if nearly_same and D <= _DENSE_IS_AFFORDABLE:
        return covariance_wasserstein_dense(one, two)
    return squared


def covariance_wasserstein_dense(one: LowRankGaussian, two: LowRankGaussian) -> float:
    """Compute the squared distance from dense D x D matrices.

    The minimum over orthogonal O of |L1 - L2 O|^2 equals the textbook formula
    tr S1 + tr S2 - 2 tr (S1^1/2 S2 S1^1/2)^1/2. The former is a sum of squares; the latter loses
    all digits when the two covariances are close.

    Parameters
    ----------
    one, two : LowRankGaussian
        Distributions; their means are ignored.

    Returns
    -------
    squared : float
        The squared distance.
    """
    L1, L2 = one._root, two._root
    U, _, Vt = np.linalg.svd(L2.T @ L1)
    return float(np.sum((L1 - L2 @ (U @ Vt)) ** 2))


def covariance_wasserstein_quadrature(
    one: LowRankGaussian, two: LowRankGaussian, step: float = 0.25
) -> float:
    """Compute the squared distance in O(D K^2), for a D that is too large for D x D matrices.

    With p = psi1 psi2, tr((S1 S2)^1/2) - sum(p^1/2) is 1/pi times the integral over s > 0 of
    log(det(s^2 + S1 S2) / det(s^2 + diag(p))). The first determinant is that of the block matrix
    [[s, S1], [-S2, s]], a low-rank change of [[s, psi1], [-psi2, s]], which leaves the small
    determinants of `_log_determinant_ratios`. In log s the integrand is analytic in a strip of
    half-width pi/2 and decays exponentially on both sides: the error of the trapezoid rule is
    about exp(-pi^2 / step).

    Parameters
    ----------
    one, two : LowRankGaussian
        Distributions; their means are ignored.
    step : float, default=0.25
        Step of the trapezoid rule in log s.

    Returns
    -------
    squared : float
        The squared distance; rounding may make it slightly negative.
    """
    variances = np.sum(one.variances) + np.sum(two.variances)
    total = np.sqrt(np.sum(one.variances) * np.sum(two.variances))
    if total == 0:
        return float(variances)
    # The integral is at most about `total`; the part outside of these limits is 1e-16 of it.
    s = np.exp(np.arange(np.log(total / one.dimension) - 41, np.log(total) + 36, step))
    integral = step * np.sum(s * _log_determinant_ratios(one, two, s))
    cross = np.sum(np.sqrt(one.noise * two.noise)) + integral / np.pi
    return float(variances - 2 * cross)


def _log_determinant_ratios(one: LowRankGaussian, two: LowRankGaussian, s: Array) -> Array:
    """Compute log det [[I + A, -s R], [s R', I + B]] for each s.

    A, B and R are those of `_weighted_products`. The determinant is det(I + A) times det(I + C)
    with C = B + s^2 R' (I + A)^-1 R. Both A and C are positive semidefinite: the logarithms are
    sums of positive numbers, however small, and there is no division by the noise, which may be
    zero.
    """
    A, B, R = _weighted_products(one, two, s)
    R = s[:, None, None] * R
    C = B + R.swapaxes(1, 2) @ np.linalg.solve(np.eye(one.rank) + A, R)
    return sum(
        np.log1p(np.clip(np.linalg.eigvalsh(matrix), 0, None)).sum(axis=1) for matrix in (A, C)
    )


def _weighted_products(
    one: LowRankGaussian, two: LowRankGaussian, s: Array
) -> tuple[Array, Array, Array]:
    """Compute F1' w psi2 F1, F2' w psi1 F2 and F1' w F2 with w = 1 / (s^2 + psi1 psi2) for each s.

    Each is a product of all weights with all pairs of factors, for as many columns at a time as
    fit into a cache.
    """
    K, L = one.rank, two.rank
    A, B, R = (np.zeros((len(s), size)) for size in (K * K, L * L, K * L))
    for first in range(0, one.dimension, _COLUMNS):
        part = slice(first, first + _COLUMNS)
        psi1, psi2 = one.noise[part], two.noise[part]
        F1, F2 = one.factors[part], two.factors[part]
        weights = 1 / (s[:, None] ** 2 + psi1 * psi2)
        A += weights @ _pairs(F1 * psi2[:, None], F1)
        B += weights @ _pairs(F2 * psi1[:, None], F2)
        R += weights @ _pairs(F1, F2)
    n = len(s)
    return A.reshape(n, K, K), B.reshape(n, L, L), R.reshape(n, K, L)


def _pairs(one: Array, two: Array) -> Array:
    """Compute the outer product of the two rows with the same index, for each index."""
    return np.einsum("di,dj->dij", one, two).reshape(len(one), -1)
