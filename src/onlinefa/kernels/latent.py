"""What both online algorithms do first with an observation: lines 5 to 9 of Algorithms 1 and 2.

Factors are stored K x D here, so that every inner loop runs along contiguous memory.
"""

import numpy as np
from numba import njit

# Sums may be reordered, which lets the compiler use vector instructions for them; NaN and
# infinity keep their meaning, because the loops must notice a fit that diverges. For the same
# reason a division by zero gives infinity (error_model="numpy") instead of an exception.
REORDERED_SUMS = {"reassoc", "contract"}


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
def infer_latent(row, t, mean, F, psi, deviation, C, Sigma, m):
    """Move the running mean to the t-th row; fill the deviation, C, Sigma and m of (4.23)."""
    K, D = F.shape
    for d in range(D):
        mean[d] += (row[d] - mean[d]) / t
        deviation[d] = row[d] - mean[d]
    for i in range(K):
        for d in range(D):
            C[i, d] = F[i, d] / psi[d]
        for j in range(i + 1):
            total = 1.0 if i == j else 0.0
            for d in range(D):
                total += C[i, d] * F[j, d]
            Sigma[i, j] = total
    invert_in_place(Sigma)
    for i in range(K):
        m[i] = 0.0
    for j in range(K):
        projection = 0.0
        for d in range(D):
            projection += C[j, d] * deviation[d]
        for i in range(K):
            m[i] += Sigma[i, j] * projection


@njit(cache=True, error_model="numpy")
def all_finite(m):
    """Whether the latent mean is finite: it is not after a factor or a deviation that is not."""
    return np.isfinite(m).all()
