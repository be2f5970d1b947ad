"""Stepwise expectation-maximisation with averaged statistics, over a block of rows."""

from __future__ import annotations

import numpy as np
from numba import njit

from onlinefa.gaussian import Array
from onlinefa.kernels.columns import CHUNK, TILE, in_threads, number_of_chunks
from onlinefa.kernels.latent import expect, infer, invert_in_place
from onlinefa.kernels.meeting import meet
from onlinefa.kernels.online_em import maximise, move
from onlinefa.kernels.products import REORDERED_SUMS


def absorb(
    rows: Array, count: int, warm_up: int, exponent: float, offset: float, mean: Array, F: Array,
    psi: Array, A: Array, B: Array, d2: Array, mean_A: Array, mean_B: Array, mean_d2: Array,
    smallest_noise: float,
) -> int:  # fmt: skip
    """Absorb the rows in place; return how many, fewer than given when the fit diverges.

    The expected statistics are A = E[d z'], B = E[z z'] and d2 = E[d^2] of the deviations d and the
    latent z; F and A are K x D. Their means are over all rows since the warm-up.
    """
    K, D = F.shape
    sums = np.empty((number_of_chunks(D), K + 1, K))
    m, inverse_B = np.empty(K), np.empty((K, K))
    settings = (warm_up, exponent, offset, smallest_noise)
    latent, state = (m, B, inverse_B, mean_B), (mean, F, psi, A, d2, mean_A, mean_d2, sums)
    return in_threads(D, lambda share: _absorb(share, rows, count, settings, latent, state))


@njit(cache=True, nogil=True, error_model="numpy")
def _absorb(share, rows, count, settings, latent, state):
    sums = state[-1]
    for n in range(-1, len(rows)):
        t = count + n + 1
        begun = n < 0 or share.thread > 0 or begin(t, sums, settings, latent)
        if not meet(share.place, share.thread, begun):
            return n
        sweep(rows, n, t, share.first, share.last, settings, latent, state)
        if not meet(share.place, share.thread, True):
            return n
    return len(rows)


@njit(cache=True)
def weights_of(t, settings):
    """How far statistics move towards those of the t-th observation, and their means to them."""
    warm_up, exponent, offset, _ = settings
    return (t + offset) ** -exponent, 1 / (t - warm_up)


@njit(cache=True, error_model="numpy")
def begin(t, sums, settings, latent):
    """The mean m of the latent variables given a row, and B, its inverse and its mean."""
    m, B, inverse_B, mean_B = latent
    weight, share = weights_of(t, settings)
    if not infer(sums, inverse_B, m):  # which is Sigma so far
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
    """Learn from the n-th row, the t-th observation, and take the sums for the one after."""
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
                weight, share = weights_of(t, settings)
                move(rows[n], mean, m, weight, first, last, scratch, A, d2)
                for i in range(K):
                    average(mean_A[i, first:last], A[i, first:last], share)
                average(mean_d2[first:last], d2[first:last], share)
                maximise(A, inverse_B, d2, first, last, F, psi, first, smallest_noise)
            if n + 1 < len(rows):
                expect(rows[n + 1], t + 1, first, last, mean, F, psi, first, scratch, total)


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def average(mean, value, share):
    """Move a running mean by a share towards a value."""
    for d in range(len(mean)):
        mean[d] += share * (value[d] - mean[d])
