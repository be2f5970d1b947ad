"""Stepwise expectation-maximisation with averaged statistics, over a block of rows."""

import numpy as np
from numba import njit

from onlinefa.kernels.latent import REORDERED_SUMS, all_finite, infer_latent, invert_in_place
from onlinefa.kernels.online_em import maximise


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
    deviation = np.empty(D)
    C = np.empty((K, D))
    Sigma = np.empty((K, K))
    inverse_B = np.empty((K, K))
    m = np.empty(K)
    for n in range(rows.shape[0]):
        t = count + n + 1
        infer_latent(rows[n], t, mean, F, psi, deviation, C, Sigma, m)
        if not all_finite(m):
            return n
        weight, share = (t + offset) ** -exponent, 1 / (t - warm_up)
        for i in range(K):
            for j in range(K):
                B[i, j] += weight * (Sigma[i, j] + m[i] * m[j] - B[i, j])
                mean_B[i, j] += share * (B[i, j] - mean_B[i, j])
                inverse_B[i, j] = B[i, j]
            for d in range(D):
                A[i, d] += weight * (deviation[d] * m[i] - A[i, d])
                mean_A[i, d] += share * (A[i, d] - mean_A[i, d])
        for d in range(D):
            d2[d] += weight * (deviation[d] * deviation[d] - d2[d])
            mean_d2[d] += share * (d2[d] - mean_d2[d])
        invert_in_place(inverse_B)
        maximise(A, inverse_B, d2, F, psi, smallest_noise)
    return rows.shape[0]
