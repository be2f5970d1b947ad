"""Products of the K rows of a tile with a K x K matrix and with one another.

These products take most of the time of a kernel. Two rules make them fast. Rows are sliced: a slice
is an array of stride one, whereas an offset in the index would allow for negative indices and
prevent vector instructions. All reads come before all writes, because the compiler must assume that
a write changes any array that is read after it.
"""

from numba import njit

# The compiler may reorder sums, which lets it use vector instructions for them. NaN and infinity
# keep their meaning, because the loops must detect a fit that diverges. For the same reason, a
# division by zero gives infinity (error_model="numpy") instead of an exception.
REORDERED_SUMS = {"reassoc", "contract"}


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def combine(weights, matrix, first, last, out, start):
    """Multiply a K x K matrix of weights with columns first to last of a K x D matrix.

    The result is written to `out`, from column `start` on. Five rows at a time are added to four
    sums, or to two, which reads the rows less often than adding them to one sum.
    """
    K, end = len(weights), start + last - first
    if K == 1:
        o, p, w = out[0, start:end], matrix[0, first:last], out.dtype.type(weights[0, 0])
        for d in range(len(o)):
            o[d] = w * p[d]
        return
    fours = K - K % 4 if K >= 5 else 0
    for i in range(0, fours, 4):
        _add_five_to_four(weights, i, matrix, 0, first, last, out, start, None)
        for j in range(5, K - 4, 5):
            _add_five_to_four(weights, i, matrix, j, first, last, out, start, out)
    for i in range(0, K, 2):
        i = min(i, K - 2)  # the last but one is computed twice if K is odd
        v, w, one, two = weights[i], weights[i + 1], out[i, start:end], out[i + 1, start:end]
        if i + 1 >= fours:
            for j in range(0, K - 4, 5):
                _add_five(v, w, matrix, j, first, last, one, two)
        for j in range(K - K % 5, K):
            _add_one(v, w, matrix, j, first, last, one, two)


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def _add_five(v, w, matrix, j, first, last, one, two):
    """Add five rows to two sums with weights v and w: registers hold no more weights."""
    number, zero = one.dtype.type, one.dtype.type(0)
    p, q, r = matrix[j, first:last], matrix[j + 1, first:last], matrix[j + 2, first:last]
    s, t = matrix[j + 3, first:last], matrix[j + 4, first:last]
    v1, v2, v3 = number(v[j]), number(v[j + 1]), number(v[j + 2])
    v4, v5 = number(v[j + 3]), number(v[j + 4])
    w1, w2, w3 = number(w[j]), number(w[j + 1]), number(w[j + 2])
    w4, w5 = number(w[j + 3]), number(w[j + 4])
    for d in range(len(one)):
        a, b, c, e, f = p[d], q[d], r[d], s[d], t[d]
        x, y = (one[d], two[d]) if j > 0 else (zero, zero)
        x += v1 * a + v2 * b + v3 * c + v4 * e + v5 * f
        y += w1 * a + w2 * b + w3 * c + w4 * e + w5 * f
        one[d] = x
        two[d] = y


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def _add_one(v, w, matrix, j, first, last, one, two):
    """Add one row to two sums."""
    p, v1, w1 = matrix[j, first:last], one.dtype.type(v[j]), one.dtype.type(w[j])
    zero = one.dtype.type(0)
    for d in range(len(one)):
        x, y = (one[d], two[d]) if j > 0 else (zero, zero)
        x += v1 * p[d]
        y += w1 * p[d]
        one[d] = x
        two[d] = y


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def _add_five_to_four(weights, i, matrix, j, first, last, out, start, onto):
    """Add five rows to four sums, i to i + 3. If `onto` is None, the sums start from zero."""
    number, zero, end = out.dtype.type, out.dtype.type(0), start + last - first
    p, q, r = matrix[j, first:last], matrix[j + 1, first:last], matrix[j + 2, first:last]
    s, t = matrix[j + 3, first:last], matrix[j + 4, first:last]
    o1, o2 = out[i, start:end], out[i + 1, start:end]
    o3, o4 = out[i + 2, start:end], out[i + 3, start:end]
    w = weights[i : i + 4, j : j + 5]
    a1, b1, c1 = number(w[0, 0]), number(w[0, 1]), number(w[0, 2])
    a2, b2, c2 = number(w[1, 0]), number(w[1, 1]), number(w[1, 2])
    a3, b3, c3 = number(w[2, 0]), number(w[2, 1]), number(w[2, 2])
    a4, b4, c4 = number(w[3, 0]), number(w[3, 1]), number(w[3, 2])
    e1, e2, e3, e4 = number(w[0, 3]), number(w[1, 3]), number(w[2, 3]), number(w[3, 3])
    f1, f2, f3, f4 = number(w[0, 4]), number(w[1, 4]), number(w[2, 4]), number(w[3, 4])
    for d in range(len(o1)):
        a, b, c, e, f = p[d], q[d], r[d], s[d], t[d]
        x1 = x2 = x3 = x4 = zero
        if onto is not None:
            x1, x2, x3, x4 = o1[d], o2[d], o3[d], o4[d]
        x1 += a1 * a + b1 * b + c1 * c + e1 * e + f1 * f
        x2 += a2 * a + b2 * b + c2 * c + e2 * e + f2 * f
        x3 += a3 * a + b3 * b + c3 * c + e3 * e + f3 * f
        x4 += a4 * a + b4 * b + c4 * c + e4 * e + f4 * f
        o1[d] = x1
        o2[d] = x2
        o3[d] = x3
        o4[d] = x4


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def add_weighted(F, y, weight, first, last, sums):
    """Add the lower triangle of F' w F over columns first to last, and F' w y as the row below it.

    F is K x D; y and the weights have these columns only. Three rows at a time are multiplied with
    three others: six rows are read for nine products, which are kept in nine registers.
    """
    K = len(F)
    for i in range(0, K - 2, 3):
        for j in range(0, i, 3):
            _add_square(F, weight, first, last, i, j, sums)
        _add_triangle(F, y, weight, first, last, i, sums)
    for i in range(K - K % 3, K):
        f = F[i, first:last]
        for j in range(i + 1):
            sums[i, j] += _dot(f, F[j, first:last], weight)
        sums[K, i] += _dot(f, y, weight)


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def _dot(x, y, weight):
    total = x.dtype.type(0)
    for d in range(len(x)):
        total += x[d] * weight[d] * y[d]
    return total


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def _add_square(F, weight, first, last, i, j, sums):
    """Add the products of rows i to i + 2 with rows j to j + 2, which are different rows."""
    f, g, h = F[i, first:last], F[i + 1, first:last], F[i + 2, first:last]
    p, q, r = F[j, first:last], F[j + 1, first:last], F[j + 2, first:last]
    fp = fq = fr = gp = gq = gr = hp = hq = hr = F.dtype.type(0)
    for d in range(len(weight)):
        a, b, c = f[d] * weight[d], g[d] * weight[d], h[d] * weight[d]
        fp += a * p[d]
        fq += a * q[d]
        fr += a * r[d]
        gp += b * p[d]
        gq += b * q[d]
        gr += b * r[d]
        hp += c * p[d]
        hq += c * q[d]
        hr += c * r[d]
    sums[i, j] += fp
    sums[i, j + 1] += fq
    sums[i, j + 2] += fr
    sums[i + 1, j] += gp
    sums[i + 1, j + 1] += gq
    sums[i + 1, j + 2] += gr
    sums[i + 2, j] += hp
    sums[i + 2, j + 1] += hq
    sums[i + 2, j + 2] += hr


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def _add_triangle(F, y, weight, first, last, i, sums):
    """Add the products of rows i to i + 2 with one another and with y."""
    f, g, h = F[i, first:last], F[i + 1, first:last], F[i + 2, first:last]
    ff = gf = gg = hf = hg = hh = fy = gy = hy = F.dtype.type(0)
    for d in range(len(weight)):
        a, b, c = f[d] * weight[d], g[d] * weight[d], h[d] * weight[d]
        ff += a * f[d]
        gf += b * f[d]
        gg += b * g[d]
        hf += c * f[d]
        hg += c * g[d]
        hh += c * h[d]
        fy += a * y[d]
        gy += b * y[d]
        hy += c * y[d]
    sums[i, i] += ff
    sums[i + 1, i] += gf
    sums[i + 1, i + 1] += gg
    sums[i + 2, i] += hf
    sums[i + 2, i + 1] += hg
    sums[i + 2, i + 2] += hh
    sums[len(F), i] += fy
    sums[len(F), i + 1] += gy
    sums[len(F), i + 2] += hy
