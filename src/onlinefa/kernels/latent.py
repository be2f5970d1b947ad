"""Posterior of the latent variables given a row: lines 5 to 9 of Algorithms 1 and 2.

The sums over columns that it needs are computed in the sweep that learns from the previous row,
while the columns are in a cache: for large D, moving them through memory takes most of the time.
"""

import numpy as np
from numba import njit

from onlinefa.kernels.products import REORDERED_SUMS, add_weighted


@njit(cache=True, error_model="numpy")
def invert_in_place(matrix):
    """Invert a symmetric positive definite K x K matrix through its Cholesky factor."""
    K = matrix.shape[0]
    for i in range(K):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = np.sqrt(total) if i == j else total / matrix[j, j]
    for i in range(K):  # the lower triangle becomes the inverse of the Cholesky factor
        matrix[i, i] = 1 / matrix[i, i]
        for j in range(i):
            total = 0.0
            for k in range(j, i):
                total -= matrix[i, k] * matrix[k, j]
            matrix[i, j] = total * matrix[i, i]
    for i in range(K):  # inverse = (L^-1)' L^-1; row i of L^-1 is not read after row i is done
        for j in range(i + 1):
            total = 0.0
            for k in range(i, K):
                total += matrix[k, i] * matrix[k, j]
            matrix[i, j] = total
            matrix[j, i] = total


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def expect(row, t, first, last, mean, F, psi, start, scratch, sums):
    """Add a tile's part of the sums of (4.22) and (4.23) for the t-th row.

    The running mean is updated. The lower triangle of F'F / psi and, as the row below it, F'd / psi
    are added to the sums. The tile begins at column `start` of the arguments `F` and `psi`.
    """
    y, mu, noise = row[first:last], mean[first:last], psi[start : start + last - first]
    d_, weight = scratch[0, : last - first], scratch[1, : last - first]
    share = mu.dtype.type(1 / t)
    for d in range(len(y)):
        mu[d] += (y[d] - mu[d]) * share
        d_[d] = y[d] - mu[d]
        weight[d] = 1 / noise[d]
    add_weighted(F, d_, weight, start, start + last - first, sums)


@njit(cache=True, error_model="numpy")
def infer(sums, Sigma, m):
    """Compute Sigma and m of (4.23) from the sums of all chunks; return whether m is finite."""
    K = len(m)
    Sigma[:] = np.eye(K)
    projection = np.zeros(K)
    for chunk in range(len(sums)):
        for i in range(K):
            projection[i] += sums[chunk, K, i]
            for j in range(i + 1):
                Sigma[i, j] += sums[chunk, i, j]
    invert_in_place(Sigma)
    for i in range(K):
        m[i] = 0.0
        for j in range(K):
            m[i] += Sigma[i, j] * projection[j]
    return np.isfinite(m).all()
