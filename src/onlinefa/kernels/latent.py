"""What the online algorithms do first with an observation: lines 5 to 9 of Algorithms 1 and 2.

Factors are stored K x D here, and everything is done tile by tile of columns, so that a tile stays
in the fastest cache from the first to the last thing that is done with it. For large D a kernel
then takes as long as it takes to move its arrays through memory once per observation. That is why
the sums over columns that the next observation needs are taken in the same pass that learns from
this one.
"""

import numpy as np
from numba import njit

# Sums may be reordered, which lets the compiler use vector instructions for them; NaN and
# infinity keep their meaning, because the loops must notice a fit that diverges. For the same
# reason a division by zero gives infinity (error_model="numpy") instead of an exception.
REORDERED_SUMS = {"reassoc", "contract"}

TILE = 512  # columns; with K = 10, three arrays of K x TILE numbers are 60 to 120 KiB


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


# Slices of a row have stride one, which the compiler knows; with an offset in the index instead, it
# would have to allow for negative indices and could not use vector instructions.


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def dot(x, y):
    total = x.dtype.type(0)
    for d in range(len(x)):
        total += x[d] * y[d]
    return total


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def add_dots(x, matrix, number, first, last, out):
    """Add to out[j] the product of x with columns first to last of row j, for so many rows; four
    at a time, to load x less often."""
    zero = x.dtype.type(0)
    for j in range(0, number - 3, 4):
        p, q = matrix[j, first:last], matrix[j + 1, first:last]
        r, s = matrix[j + 2, first:last], matrix[j + 3, first:last]
        a, b, c, e = zero, zero, zero, zero
        for d in range(len(x)):
            a += x[d] * p[d]
            b += x[d] * q[d]
            c += x[d] * r[d]
            e += x[d] * s[d]
        out[j] += a
        out[j + 1] += b
        out[j + 2] += c
        out[j + 3] += e
    for j in range(number - number % 4, number):
        out[j] += dot(x, matrix[j, first:last])


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def combine(weights, matrix, first, last, out, start):
    """Columns first to last of a K x K matrix of weights times a K x D matrix.

    They go to as many columns of `out`, from `start` on; two rows of it at a time.
    """
    K, end = len(weights), start + last - first
    if K == 1:
        o, p, w = out[0, start:end], matrix[0, first:last], out.dtype.type(weights[0, 0])
        for d in range(len(o)):
            o[d] = w * p[d]
    for i in range(0, K if K > 1 else 0, 2):
        i = min(i, K - 2)  # the last but one twice, if their number is odd
        combine_two(
            weights[i], weights[i + 1], matrix, first, last, out[i, start:end],
            out[i + 1, start:end],
        )  # fmt: skip


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def combine_two(v, w, matrix, first, last, one, two):
    """Two sums of rows, with weights v and w; five rows at a time, to load and store less often."""
    K, number = len(v), one.dtype.type
    for d in range(len(one)):
        one[d] = 0
    for d in range(len(two)):
        two[d] = 0
    for j in range(0, K - 4, 5):
        p, q, r = matrix[j, first:last], matrix[j + 1, first:last], matrix[j + 2, first:last]
        s, t = matrix[j + 3, first:last], matrix[j + 4, first:last]
        v1, v2, v3 = number(v[j]), number(v[j + 1]), number(v[j + 2])
        v4, v5 = number(v[j + 3]), number(v[j + 4])
        w1, w2, w3 = number(w[j]), number(w[j + 1]), number(w[j + 2])
        w4, w5 = number(w[j + 3]), number(w[j + 4])
        for d in range(len(one)):
            one[d] += (v1 * p[d] + v2 * q[d]) + (v3 * r[d] + v4 * s[d]) + v5 * t[d]
            two[d] += (w1 * p[d] + w2 * q[d]) + (w3 * r[d] + w4 * s[d]) + w5 * t[d]
    for j in range(K - K % 5, K):
        p, v1, w1 = matrix[j, first:last], number(v[j]), number(w[j])
        for d in range(len(one)):
            one[d] += v1 * p[d]
            two[d] += w1 * p[d]


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def expect(row, t, first, last, mean, F, psi, start, scratch, Sigma, projection):
    """A tile's part of (4.22) and (4.23) for the t-th row.

    Moves the running mean, and adds to the lower triangle of F'F / psi in Sigma and to F'd / psi in
    the projection. The tile's F and psi are in the columns from `start` on of what is given.
    """
    y, mu, end = row[first:last], mean[first:last], start + last - first
    noise, c = psi[start:end], scratch[0, : last - first]
    weight, d_ = scratch[1, : last - first], scratch[2, : last - first]
    share = mu.dtype.type(1 / t)
    for d in range(len(y)):
        mu[d] += (y[d] - mu[d]) * share
        d_[d] = y[d] - mu[d]
        weight[d] = 1 / noise[d]
    for i in range(F.shape[0]):
        f = F[i, start:end]
        for d in range(len(c)):
            c[d] = f[d] * weight[d]
        projection[i] += dot(c, d_)
        add_dots(c, F, i + 1, start, end, Sigma[i])


@njit(cache=True, error_model="numpy")
def reset(Sigma, projection):
    """Before the first tile: the identity of (4.22), and nothing."""
    K = len(projection)
    for i in range(K):
        projection[i] = 0.0
        for j in range(K):
            Sigma[i, j] = 1.0 if i == j else 0.0


@njit(cache=True, error_model="numpy")
def infer(Sigma, projection, m):
    """After the last tile: Sigma and m of (4.23). False if the fit has left the finite numbers."""
    invert_in_place(Sigma)
    for i in range(len(m)):
        m[i] = 0.0
        for j in range(len(m)):
            m[i] += Sigma[i, j] * projection[j]
    return np.isfinite(m).all()
