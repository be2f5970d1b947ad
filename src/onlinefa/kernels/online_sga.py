"""Algorithm 1, online stochastic gradient ascent, over a block of rows."""

from __future__ import annotations

import numpy as np
from numba import njit

from onlinefa.gaussian import Array
from onlinefa.kernels.barrier import wait
from onlinefa.kernels.columns import CHUNK, TILE, count_chunks, run_in_threads
from onlinefa.kernels.latent import expect, infer
from onlinefa.kernels.products import REORDERED_SUMS, combine

# Up to this step of log psi, exp is computed by a polynomial, which uses vector instructions. At a
# learning rate of 0.001, only residuals beyond eight standard deviations cause larger steps.
_LARGEST_STEP = 1 / 32


def absorb(
    rows: Array,
    count: int,
    warm_up: int,
    learning_rate: float,
    preconditioned: bool,
    mean: Array,
    F: Array,
    psi: Array,
) -> int:
    """Learn from rows, in place.

    During the warm-up, only the running mean changes.

    Parameters
    ----------
    rows : ndarray of shape (n, D)
        Rows.
    count : int
        Number of rows absorbed before.
    warm_up : int
        Number of rows of the warm-up.
    learning_rate : float
        Step along the gradient.
    preconditioned : bool
        Whether the gradient of the factors is multiplied by psi, which gives it the units of the
        factors.
    mean : ndarray of shape (D,)
        Running mean.
    F : ndarray of shape (K, D)
        Factors.
    psi : ndarray of shape (D,)
        Variances of the noise.

    Returns
    -------
    absorbed : int
        Number of rows absorbed, smaller than n if the fit diverges.
    """
    K, D = F.shape
    sums = np.empty((count_chunks(D), K + 1, K))
    Sigma, m, moment = np.empty((K, K)), np.empty(K), np.empty((K, K))
    settings, state = (warm_up, learning_rate, preconditioned), (m, moment, mean, F, psi, sums)
    return run_in_threads(D, lambda share: _absorb(share, rows, count, settings, Sigma, state))


@njit(cache=True, nogil=True, error_model="numpy")
def _absorb(share, rows, count, settings, Sigma, state):
    m, moment, _, _, _, sums = state
    for n in range(-1, len(rows)):
        begun = n < 0 or share.thread > 0 or begin(sums, Sigma, m, moment)
        if not wait(share.barrier, share.thread, begun):
            return n
        swept = sweep(rows, n, count + n + 1, share.first, share.last, settings, state)
        if not wait(share.barrier, share.thread, swept):
            return n
    return len(rows)


@njit(cache=True, error_model="numpy")
def begin(sums, Sigma, m, moment):
    """Compute the mean m and the second moment of the latent variables given a row."""
    is_finite = infer(sums, Sigma, m)
    for i in range(len(m)):
        for j in range(len(m)):
            moment[i, j] = Sigma[i, j] + m[i] * m[j]
    return is_finite


@njit(cache=True, error_model="numpy")
def sweep(rows, n, t, first_chunk, last_chunk, settings, state):
    """Learn from the n-th row, the t-th observation, and compute the sums for the next one."""
    warm_up, learning_rate, preconditioned = settings
    m, moment, mean, F, psi, sums = state
    K, D = F.shape
    scratch, FM = np.empty((4, TILE), F.dtype), np.empty((K, TILE), F.dtype)
    for chunk in range(first_chunk, last_chunk):
        total = sums[chunk]
        total[:] = 0
        for first in range(chunk * CHUNK, min((chunk + 1) * CHUNK, D), TILE):
            last = min(first + TILE, D)
            if n >= 0 and t > warm_up:
                usable = ascend(
                    rows[n],
                    mean,
                    moment,
                    m,
                    learning_rate,
                    preconditioned,
                    first,
                    last,
                    FM,
                    scratch,
                    F,
                    psi,
                )
                if not usable:
                    return False
            if n + 1 < len(rows):
                expect(rows[n + 1], t + 1, first, last, mean, F, psi, first, scratch, total)
    return True


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def ascend(row, mean, moment, m, learning_rate, preconditioned, first, last, FM, scratch, F, psi):
    """Take a step along a tile's gradients (4.24) and (4.26); return whether psi is usable.

    psi is usable if it is positive and finite.

    Both gradients need F M with M = Sigma + m m'. That of F is (d m' - F M) / psi, that of log psi
    is (E / psi - 1) / 2 with E = d^2 - 2 d F m + rowsum(F * F M), the expected squared residuals.
    """
    y, mu, noise = row[first:last], mean[first:last], psi[first:last]
    d_, squares = scratch[0, : last - first], scratch[1, : last - first]
    precision, rates = scratch[2, : last - first], scratch[3, : last - first]
    number = d_.dtype.type
    rate, half, one = number(learning_rate), number(learning_rate / 2), number(1)
    # A rate for each column, without a condition in the loop.
    same = rate if preconditioned else number(0)
    per_noise = rate - same
    for d in range(len(y)):
        difference, inverse = y[d] - mu[d], one / noise[d]
        d_[d] = difference
        squares[d] = difference * difference
        precision[d] = inverse
        rates[d] = same + per_noise * inverse
    combine(moment, F, first, last, FM, 0)
    K = len(m)
    for i in range(0, K - 4, 5):
        _climb_five(F, FM, m, i, first, last, d_, rates, squares)
    for i in range(K - K % 5, K):
        _climb(F[i, first:last], FM[i, : last - first], number(m[i]), d_, rates, squares)
    for d in range(len(squares)):
        squares[d] = half * (squares[d] * precision[d] - one)
    return _grow(noise, squares)


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def _climb(f, fm, m_i, d_, rates, squares):
    """Take a step for a row of F, and add its part of the squared residuals."""
    twice = m_i + m_i
    for d in range(len(squares)):
        a, e = f[d], squares[d] - f[d] * (d_[d] * twice - fm[d])
        f[d] = a + rates[d] * (d_[d] * m_i - fm[d])
        squares[d] = e


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def _climb_five(F, FM, m, i, first, last, d_, rates, squares):
    """Take a step for five rows of F, which accesses the other arrays less often than `_climb`."""
    number, n = d_.dtype.type, last - first
    f1, f2, f3 = F[i, first:last], F[i + 1, first:last], F[i + 2, first:last]
    f4, f5 = F[i + 3, first:last], F[i + 4, first:last]
    g1, g2, g3, g4, g5 = FM[i, :n], FM[i + 1, :n], FM[i + 2, :n], FM[i + 3, :n], FM[i + 4, :n]
    m1, m2, m3 = number(m[i]), number(m[i + 1]), number(m[i + 2])
    m4, m5 = number(m[i + 3]), number(m[i + 4])
    two = number(2)
    for d in range(len(squares)):
        x, r, e = d_[d], rates[d], squares[d]
        a1, a2, a3, a4, a5 = f1[d], f2[d], f3[d], f4[d], f5[d]
        b1, b2, b3, b4, b5 = g1[d], g2[d], g3[d], g4[d], g5[d]
        e -= a1 * (x * (two * m1) - b1) + a2 * (x * (two * m2) - b2) + a3 * (x * (two * m3) - b3)
        e -= a4 * (x * (two * m4) - b4) + a5 * (x * (two * m5) - b5)
        f1[d] = a1 + r * (x * m1 - b1)
        f2[d] = a2 + r * (x * m2 - b2)
        f3[d] = a3 + r * (x * m3 - b3)
        f4[d] = a4 + r * (x * m4 - b4)
        f5[d] = a5 + r * (x * m5 - b5)
        squares[d] = e


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def _grow(noise, step):
    """Multiply noise by exp(step); return whether the result is positive and finite."""
    number, one, zero = noise.dtype.type, noise.dtype.type(1), noise.dtype.type(0)
    limit = number(_LARGEST_STEP)
    c2, c3, c4, c5 = number(1 / 2), number(1 / 6), number(1 / 24), number(1 / 120)
    c6, c7, c8 = number(1 / 720), number(1 / 5040), number(1 / 40320)
    small, usable = zero, zero  # counters of the same type, for vector instructions
    for d in range(len(step)):
        small += one if abs(step[d]) <= limit else zero
    if small == len(step):
        for d in range(len(step)):
            x = step[d]
            p = x * (c2 + x * (c3 + x * (c4 + x * (c5 + x * (c6 + x * (c7 + x * c8))))))
            noise[d] += noise[d] * (x + x * p)
    else:
        for d in range(len(step)):
            noise[d] *= np.exp(step[d])
    for d in range(len(step)):
        usable += one if (noise[d] > 0) & (noise[d] < np.inf) else zero
    return usable == len(step)
