"""Algorithm 2, online expectation-maximisation, over a block of rows."""

import numpy as np
from numba import njit

from onlinefa.kernels.latent import REORDERED_SUMS, all_finite, infer_latent, invert_in_place


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def absorb(rows, count, warm_up, mean, F, psi, A, B, d2, smallest_noise):
    """Absorb the rows in place; return how many, fewer than given when the fit diverges.

    F and A are K x D. During the warm-up the running statistics move, F and psi do not.
    """
    K, D = F.shape
    deviation = np.empty(D)
    C = np.empty((K, D))
    Sigma = np.empty((K, K))
    H = np.empty((K, K))
    m = np.empty(K)
    for n in range(rows.shape[0]):
        t = count + n + 1
        infer_latent(rows[n], t, mean, F, psi, deviation, C, Sigma, m)
        if not all_finite(m):
            return n
        for i in range(K):
            for j in range(K):
                B[i, j] += (m[i] * m[j] - B[i, j]) / t
            for d in range(D):
                A[i, d] += (deviation[d] * m[i] - A[i, d]) / t
        for d in range(D):
            d2[d] += (deviation[d] * deviation[d] - d2[d]) / t
        if t > warm_up:
            for i in range(K):
                for j in range(K):
                    H[i, j] = Sigma[i, j] + B[i, j]
            invert_in_place(H)
            maximise(A, H, d2, F, psi, smallest_noise)
    return rows.shape[0]


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def maximise(A, inverse_H, d2, F, psi, smallest_noise):
    """F = A H^-1, (4.33), and psi = d2 - rowsum(F * A), which is what (4.35) collapses to then."""
    K, D = F.shape
    for d in range(D):
        psi[d] = d2[d]
    for i in range(K):
        for d in range(D):
            F[i, d] = 0.0
        for j in range(K):
            for d in range(D):
                F[i, d] += inverse_H[i, j] * A[j, d]
        for d in range(D):
            psi[d] -= F[i, d] * A[i, d]
    for d in range(D):
        psi[d] = max(psi[d], smallest_noise)
