"""Algorithm 2, online expectation-maximisation, over a block of rows."""

from __future__ import annotations

import numpy as np
from numba import njit

from onlinefa.gaussian import Array
from onlinefa.kernels.barrier import wait
from onlinefa.kernels.columns import CHUNK, TILE, count_chunks, run_in_threads
from onlinefa.kernels.latent import expect, infer, invert_in_place
from onlinefa.kernels.products import REORDERED_SUMS, combine


def absorb(
    rows: Array,
    count: int,
    warm_up: int,
    mean: Array,
    F: Array,
    psi: Array,
    A: Array,
    B: Array,
    d2: Array,
    smallest_noise: float,
) -> int:
    """Learn from rows, in place.

    During the warm-up, the running statistics change, but F and psi do not.

    Parameters
    ----------
    rows : ndarray of shape (n, D)
        Rows.
    count : int
        Number of rows absorbed before.
    warm_up : int
        Number of rows of the warm-up.
    mean : ndarray of shape (D,)
        Running mean.
    F : ndarray of shape (K, D)
        Factors.
    psi : ndarray of shape (D,)
        Variances of the noise.
    A : ndarray of shape (K, D)
        Average of d m', transposed, of the deviations d and the means m of the latent variables.
    B : ndarray of shape (K, K)
        Average of m m'.
    d2 : ndarray of shape (D,)
        Average of d^2.
    smallest_noise : float
        Lower limit of psi.

    Returns
    -------
    absorbed : int
        Number of rows absorbed, smaller than n if the fit diverges.
    """
    K, D = F.shape
    sums = np.empty((count_chunks(D), K + 1, K))
    m, inverse_H = np.empty(K), np.empty((K, K))
    settings, state = (warm_up, smallest_noise), (m, inverse_H, mean, F, psi, A, d2, sums)
    return run_in_threads(D, lambda share: _absorb(share, rows, count, settings, B, state))


@njit(cache=True, nogil=True, error_model="numpy")
def _absorb(share, rows, count, settings, B, state):
    m, inverse_H, _, _, _, _, _, sums = state
    for n in range(-1, len(rows)):
        t = count + n + 1
        begun = n < 0 or share.thread > 0 or begin(t, sums, m, B, inverse_H)
        if not wait(share.barrier, share.thread, begun):
            return n
        sweep(rows, n, t, share.first, share.last, settings, state)
        if not wait(share.barrier, share.thread, True):
            return n
    return len(rows)


@njit(cache=True, error_model="numpy")
def begin(t, sums, m, B, inverse_H):
    """Compute the mean m of the latent variables, update B, and compute H^-1 with H = Sigma + B."""
    H = inverse_H
    if not infer(sums, H, m):  # H is Sigma so far
        return False
    for i in range(len(m)):
        for j in range(len(m)):
            B[i, j] += (m[i] * m[j] - B[i, j]) / t
            H[i, j] += B[i, j]
    invert_in_place(H)
    return True


@njit(cache=True, error_model="numpy")
def sweep(rows, n, t, first_chunk, last_chunk, settings, state):
    """Learn from the n-th row, the t-th observation, and compute the sums for the next one."""
    warm_up, smallest_noise = settings
    m, inverse_H, mean, F, psi, A, d2, sums = state
    K, D = F.shape
    scratch, is_last = np.empty((2, TILE), F.dtype), n + 1 == len(rows)
    # After the warm-up, F and psi follow from A and d2. They are written to memory after the last
    # row only; before it, a tile of them is enough.
    F_tile, psi_tile = np.empty((K, TILE), F.dtype), np.empty(TILE, F.dtype)
    for chunk in range(first_chunk, last_chunk):
        total = sums[chunk]
        total[:] = 0
        for first in range(chunk * CHUNK, min((chunk + 1) * CHUNK, D), TILE):
            last = min(first + TILE, D)
            if n >= 0:
                move(rows[n], mean, m, 1 / t, first, last, scratch, A, d2)
            if n < 0 or t <= warm_up:
                if not is_last:
                    expect(rows[n + 1], t + 1, first, last, mean, F, psi, first, scratch, total)
            elif is_last:
                maximise(A, inverse_H, d2, first, last, F, psi, first, smallest_noise)
            else:
                maximise(A, inverse_H, d2, first, last, F_tile, psi_tile, 0, smallest_noise)
                expect(rows[n + 1], t + 1, first, last, mean, F_tile, psi_tile, 0, scratch, total)


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def move(row, mean, m, weight, first, last, scratch, A, d2):
    """Move a tile of the averages A of d m' and d2 of d^2 by a weight towards new values."""
    y, mu, squares = row[first:last], mean[first:last], d2[first:last]
    d_ = scratch[0, : last - first]
    share = mu.dtype.type(weight)
    for d in range(len(y)):
        d_[d] = y[d] - mu[d]
    for i in range(len(m)):
        a, m_i = A[i, first:last], d_.dtype.type(m[i])
        for d in range(len(a)):
            a[d] += share * (d_[d] * m_i - a[d])
    for d in range(len(squares)):
        squares[d] += share * (d_[d] * d_[d] - squares[d])


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def maximise(A, inverse_H, d2, first, last, F, psi, start, smallest_noise):
    """Compute a tile of F = A H^-1, (4.33), and psi = d2 - rowsum(F * A).

    The latter is what (4.35) simplifies to for this F. The results are written to F and psi, from
    column `start` on.
    """
    end = start + last - first
    noise, squares = psi[start:end], d2[first:last]
    for d in range(len(noise)):
        noise[d] = squares[d]
    combine(inverse_H, A, first, last, F, start)
    for i in range(F.shape[0]):
        f, a = F[i, start:end], A[i, first:last]
        for d in range(len(noise)):
            noise[d] -= f[d] * a[d]
    for d in range(len(noise)):
        noise[d] = max(noise[d], smallest_noise)
