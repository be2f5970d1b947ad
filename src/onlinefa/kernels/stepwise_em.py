"""Stepwise expectation-maximisation with averaged statistics, over a block of rows."""

from __future__ import annotations

import numpy as np
from numba import njit

from onlinefa.gaussian import Array
from onlinefa.kernels.barrier import wait
from onlinefa.kernels.columns import CHUNK, TILE, count_chunks, run_in_threads
from onlinefa.kernels.latent import expect, infer, invert_in_place
from onlinefa.kernels.online_em import maximise, move
from onlinefa.kernels.products import REORDERED_SUMS


def absorb(
    rows: Array,
    count: int,
    warm_up: int,
    exponent: float,
    offset: float,
    mean: Array,
    F: Array,
    psi: Array,
    A: Array,
    B: Array,
    d2: Array,
    mean_A: Array,
    mean_B: Array,
    mean_d2: Array,
    smallest_noise: float,
) -> int:
    """Learn from rows after the warm-up, in place.

    Parameters
    ----------
    rows : ndarray of shape (n, D)
        Rows.
    count : int
        Number of rows absorbed before.
    warm_up : int
        Number of rows of the warm-up.
    exponent, offset : float
        The t-th row has the weight (t + offset)^-exponent.
    mean : ndarray of shape (D,)
        Running mean.
    F : ndarray of shape (K, D)
        Factors.
    psi : ndarray of shape (D,)
        Variances of the noise.
    A : ndarray of shape (K, D)
        Statistic E[d z'], transposed, of the deviations d and the latent variables z.
    B : ndarray of shape (K, K)
        Statistic E[z z'].
    d2 : ndarray of shape (D,)
        Statistic E[d^2].
    mean_A, mean_B, mean_d2 : ndarray
        Averages of the statistics over all rows since the warm-up.
    smallest_noise : float
        Lower limit of psi.

    Returns
    -------
    absorbed : int
        Number of rows absorbed, smaller than n if the fit diverges.
    """
    K, D = F.shape
    sums = np.empty((count_chunks(D), K + 1, K))
    m, inverse_B = np.empty(K), np.empty((K, K))
    settings = (warm_up, exponent, offset, smallest_noise)
    latent, state = (m, B, inverse_B, mean_B), (mean, F, psi, A, d2, mean_A, mean_d2, sums)
    return run_in_threads(D, lambda share: _absorb(share, rows, count, settings, latent, state))


@njit(cache=True, nogil=True, error_model="numpy")
def _absorb(share, rows, count, settings, latent, state):
    sums = state[-1]
    for n in range(-1, len(rows)):
        t = count + n + 1
        begun = n < 0 or share.thread > 0 or begin(t, sums, settings, latent)
        if not wait(share.barrier, share.thread, begun):
            return n
        sweep(rows, n, t, share.first, share.last, settings, latent, state)
        if not wait(share.barrier, share.thread, True):
            return n
    return len(rows)


@njit(cache=True)
def compute_weights(t, settings):
    """Compute the weights of the t-th row in the statistics, and of the statistics in averages."""
    warm_up, exponent, offset, _ = settings
    return (t + offset) ** -exponent, 1 / (t - warm_up)


@njit(cache=True, error_model="numpy")
def begin(t, sums, settings, latent):
    """Compute the mean m of the latent variables, and update B, its inverse and its average."""
    m, B, inverse_B, mean_B = latent
    weight, share = compute_weights(t, settings)
    if not infer(sums, inverse_B, m):  # inverse_B is Sigma so far
        return False
    for i in range(len(m)):
        for j in range(len(m)):
            B[i, j] += weight * (inverse_B[i, j] + m[i] * m[j] - B[i, j])
            mean_B[i, j] += share * (B[i, j] - mean_B[i, j])
            inverse_B[i, j] = B[i, j]
    invert_in_place(inverse_B)
    return True


@njit(cache=True, error_model="numpy")
def sweep(rows, n, t, first_chunk, last_chunk, settings, latent, state):
    """Learn from the n-th row, the t-th observation, and compute the sums for the next one."""
    m, _, inverse_B, _ = latent
    mean, F, psi, A, d2, mean_A, mean_d2, sums = state
    K, D = F.shape
    scratch, smallest_noise = np.empty((2, TILE), F.dtype), settings[-1]
    for chunk in range(first_chunk, last_chunk):
        total = sums[chunk]
        total[:] = 0
        for first in range(chunk * CHUNK, min((chunk + 1) * CHUNK, D), TILE):
            last = min(first + TILE, D)
            if n >= 0:
                weight, share = compute_weights(t, settings)
                move(rows[n], mean, m, weight, first, last, scratch, A, d2)
                for i in range(K):
                    average(mean_A[i, first:last], A[i, first:last], share)
                average(mean_d2[first:last], d2[first:last], share)
                maximise(A, inverse_B, d2, first, last, F, psi, first, smallest_noise)
            if n + 1 < len(rows):
                expect(rows[n + 1], t + 1, first, last, mean, F, psi, first, scratch, total)


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def average(mean, value, share):
    """Move a running average by a share towards a value."""
    for d in range(len(mean)):
        mean[d] += share * (value[d] - mean[d])
