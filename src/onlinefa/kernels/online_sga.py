"""Algorithm 1, online stochastic gradient ascent, over a block of rows."""

import numpy as np
from numba import njit

from onlinefa.kernels.exponential import exponentials
from onlinefa.kernels.latent import REORDERED_SUMS, TILE, combine, expect, infer, reset


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def absorb(rows, count, warm_up, learning_rate, preconditioned, mean, F, beta, psi):
    """Absorb the rows in place; return how many, fewer than given when the fit diverges.

    F is K x D. During the warm-up only the running mean moves. Preconditioned, the gradient of the
    factors is multiplied by psi, and so has the factors' own units.
    """
    K, D = F.shape
    scratch = np.empty((3, TILE), F.dtype)
    FM = np.empty((K, TILE), F.dtype)
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
            if n >= 0 and t > warm_up and not ascend(
                rows[n], mean, moment, m, learning_rate, preconditioned, first, last, FM, scratch,
                F, beta, psi,
            ):  # fmt: skip
                return n
            if n + 1 < rows.shape[0]:
                expect(
                    rows[n + 1], t + 1, first, last, mean, F, psi, first, scratch, Sigma,
                    projection,
                )  # fmt: skip
    return rows.shape[0]


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def ascend(
    row, mean, moment, m, learning_rate, preconditioned, first, last, FM, scratch, F, beta, psi
):
    """A step along a tile's gradients (4.24) and (4.26). False if psi is zero or not finite then.

    Both need F M with M = Sigma + m m': the gradient of F is (d m' - F M) / psi, that of beta is
    (E / psi - 1) / 2 with E = d^2 - 2 d F m + rowsum(F * F M), the expected squared residuals.
    """
    y, mu, noise, logs = row[first:last], mean[first:last], psi[first:last], beta[first:last]
    squares, rates = scratch[0, : last - first], scratch[1, : last - first]
    d_ = scratch[2, : last - first]
    number = d_.dtype.type
    rate, half, one = number(learning_rate), number(learning_rate / 2), number(1)
    combine(moment, F, first, last, FM, 0)
    for d in range(len(squares)):
        d_[d] = y[d] - mu[d]
    for d in range(len(squares)):
        squares[d] = d_[d] * d_[d]
        rates[d] = rate if preconditioned else rate / noise[d]
    for i in range(F.shape[0]):
        f, fm, m_i = F[i, first:last], FM[i, : last - first], number(m[i])
        for d in range(len(squares)):
            dm = d_[d] * m_i
            gradient = dm - fm[d]
            squares[d] -= f[d] * (gradient + dm)
            f[d] += rates[d] * gradient
    for d in range(len(squares)):
        logs[d] += half * (squares[d] / noise[d] - one)
    exponentials(logs, noise)
    usable = 0
    for d in range(len(noise)):
        usable += (noise[d] > 0) & (noise[d] < np.inf)
    return usable == len(noise)
