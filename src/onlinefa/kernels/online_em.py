"""Algorithm 2, online expectation-maximisation, over a block of rows."""

import numpy as np
from numba import njit

from onlinefa.kernels.latent import (
    REORDERED_SUMS,
    TILE,
    combine,
    expect,
    infer,
    invert_in_place,
    reset,
)


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def absorb(rows, count, warm_up, mean, F, psi, A, B, d2, smallest_noise):
    """Absorb the rows in place; return how many, fewer than given when the fit diverges.

    F and A are K x D. During the warm-up the running statistics move, F and psi do not.
    """
    K, D = F.shape
    scratch = np.empty((3, TILE), F.dtype)
    # After the warm-up, F and psi follow from A and d2. They are written to memory after the last
    # row only; in between a tile of them is enough.
    F_tile, psi_tile = np.empty((K, TILE), F.dtype), np.empty(TILE, F.dtype)
    Sigma, projection, m, H = np.empty((K, K)), np.empty(K), np.empty(K), np.empty((K, K))
    for n in range(-1, rows.shape[0]):
        t, is_last = count + n + 1, n + 1 == rows.shape[0]
        if n >= 0:
            if not infer(Sigma, projection, m):
                return n
            for i in range(K):
                for j in range(K):
                    B[i, j] += (m[i] * m[j] - B[i, j]) / t
                    H[i, j] = Sigma[i, j] + B[i, j]
            invert_in_place(H)
        reset(Sigma, projection)
        for first in range(0, D, TILE):
            last = min(first + TILE, D)
            if n >= 0:
                move(rows[n], mean, m, 1 / t, first, last, scratch, A, d2)
            if n < 0 or t <= warm_up:
                if not is_last:
                    expect(
                        rows[n + 1], t + 1, first, last, mean, F, psi, first, scratch, Sigma,
                        projection,
                    )  # fmt: skip
            elif is_last:
                maximise(A, H, d2, first, last, F, psi, first, smallest_noise)
            else:
                maximise(A, H, d2, first, last, F_tile, psi_tile, 0, smallest_noise)
                expect(
                    rows[n + 1], t + 1, first, last, mean, F_tile, psi_tile, 0, scratch, Sigma,
                    projection,
                )  # fmt: skip
    return rows.shape[0]


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def move(row, mean, m, weight, first, last, scratch, A, d2):
    """Move a tile of the averages A of d m' and d2 of d^2 by a weight towards the present ones."""
    y, mu, squares = row[first:last], mean[first:last], d2[first:last]
    d_ = scratch[2, : last - first]
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
    """A tile of F = A H^-1, (4.33), and psi = d2 - rowsum(F * A), what (4.35) collapses to then.

    They go to the columns from `start` on.
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
