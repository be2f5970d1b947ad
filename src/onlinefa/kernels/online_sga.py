"""Algorithm 1, online stochastic gradient ascent, over a block of rows."""

import numpy as np
from numba import njit

from onlinefa.kernels.latent import REORDERED_SUMS, TILE, combine, expect, infer, reset


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def absorb(rows, count, warm_up, learning_rate, preconditioned, mean, F, beta, psi):
    """Absorb the rows in place; return how many, fewer than given when the fit diverges.

    F is K x D. During the warm-up only the running mean moves. Preconditioned, the gradient of the
    factors is multiplied by psi, and so has the factors' own units.
    """
    K, D = F.shape
    deviation = np.empty(D, F.dtype)
    scratch = np.empty((2, TILE), F.dtype)
    F_gradient, beta_gradient = np.empty((K, TILE), F.dtype), np.empty(TILE, F.dtype)
    Sigma, projection, m, moment = np.empty((K, K)), np.empty(K), np.empty(K), np.empty((K, K))
    for n in range(-1, rows.shape[0]):
        t = count + n + 1
        if n >= 0:
            if not infer(Sigma, projection, m):
                return n
            for i in range(K):
                for j in range(K):
                    moment[i, j] = Sigma[i, j] + m[i] * m[j]
        reset(Sigma, projection)
        for first in range(0, D, TILE):
            last = min(first + TILE, D)
            if n >= 0 and t > warm_up:
                gradients(deviation, F, psi, moment, m, first, last, F_gradient, beta_gradient)
                if not ascend(
                    F_gradient, beta_gradient, learning_rate, preconditioned, first, last, scratch,
                    F, beta, psi,
                ):  # fmt: skip
                    return n
            if n + 1 < rows.shape[0]:
                expect(
                    rows[n + 1], t + 1, first, last, mean, F, psi, deviation, scratch, Sigma,
                    projection,
                )  # fmt: skip
    return rows.shape[0]


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def gradients(deviation, F, psi, moment, m, first, last, F_gradient, beta_gradient):
    """A tile of (4.24), times psi, and of (4.26). Both need F (Sigma + m m')."""
    d_, noise, b = deviation[first:last], psi[first:last], beta_gradient[: last - first]
    for d in range(len(b)):
        b[d] = d_[d] * d_[d]
    for i in range(F.shape[0]):
        f, g, m_i = F[i, first:last], F_gradient[i, : last - first], d_.dtype.type(m[i])
        combine(moment[i], F, first, last, g)
        for d in range(len(b)):
            b[d] += f[d] * (g[d] - 2 * d_[d] * m_i)
            g[d] = d_[d] * m_i - g[d]
    for d in range(len(b)):
        b[d] = (b[d] / noise[d] - 1) / 2


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def ascend(
    F_gradient, beta_gradient, learning_rate, preconditioned, first, last, scratch, F, beta, psi
):
    """A step along a tile's gradients. False if psi is zero or no longer finite after it."""
    noise, logs, b = psi[first:last], beta[first:last], beta_gradient[: last - first]
    rates, rate = scratch[0, : last - first], noise.dtype.type(learning_rate)
    for d in range(len(rates)):
        rates[d] = rate if preconditioned else rate / noise[d]
    for i in range(F.shape[0]):
        f, g = F[i, first:last], F_gradient[i, : last - first]
        for d in range(len(f)):
            f[d] += rates[d] * g[d]
    smallest, largest = np.inf, 0.0
    for d in range(len(noise)):
        logs[d] += rate * b[d]
        noise[d] = np.exp(logs[d])
        smallest, largest = min(smallest, noise[d]), max(largest, noise[d])
    return smallest > 0 and largest < np.inf
