"""Stepwise expectation-maximisation with averaged statistics, over a block of rows."""

import numpy as np
from numba import njit

from onlinefa.kernels.latent import REORDERED_SUMS, TILE, expect, infer, invert_in_place, reset
from onlinefa.kernels.online_em import maximise, move


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def absorb(
    rows, count, warm_up, exponent, offset, mean, F, psi, A, B, d2, mean_A, mean_B, mean_d2,
    smallest_noise,
):  # fmt: skip
    """Absorb the rows in place; return how many, fewer than given when the fit diverges.

    The expected statistics are A = E[d z'], B = E[z z'] and d2 = E[d^2] of the deviations d and the
    latent z; F and A are K x D. Their means are over all rows since the warm-up.
    """
    K, D = F.shape
    scratch = np.empty((3, TILE), F.dtype)
    Sigma, projection, m = np.empty((K, K)), np.empty(K), np.empty(K)
    inverse_B = np.empty((K, K))
    for n in range(-1, rows.shape[0]):
        t = count + n + 1
        if n >= 0:
            weight, share = (t + offset) ** -exponent, 1 / (t - warm_up)
            if not infer(Sigma, projection, m):
                return n
            for i in range(K):
                for j in range(K):
                    B[i, j] += weight * (Sigma[i, j] + m[i] * m[j] - B[i, j])
                    mean_B[i, j] += share * (B[i, j] - mean_B[i, j])
                    inverse_B[i, j] = B[i, j]
            invert_in_place(inverse_B)
        reset(Sigma, projection)
        for first in range(0, D, TILE):
            last = min(first + TILE, D)
            if n >= 0:
                move(rows[n], mean, m, weight, first, last, scratch, A, d2)
                for i in range(K):
                    average(mean_A[i, first:last], A[i, first:last], share)
                average(mean_d2[first:last], d2[first:last], share)
                maximise(A, inverse_B, d2, first, last, F, psi, first, smallest_noise)
            if n + 1 < rows.shape[0]:
                expect(
                    rows[n + 1], t + 1, first, last, mean, F, psi, first, scratch, Sigma,
                    projection,
                )  # fmt: skip
    return rows.shape[0]


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def average(mean, value, share):
    """Move a running mean by a share towards a value."""
    for d in range(len(mean)):
        mean[d] += share * (value[d] - mean[d])
