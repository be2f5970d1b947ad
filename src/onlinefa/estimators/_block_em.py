"""Expectation-maximisation in blocks of rows, where the model represents all earlier rows."""

from __future__ import annotations

import copy
import math
from typing import Protocol

from onlinefa._arrays import (
    AnyArray,
    array_namespace,
    decompose,
    invert,
    invert_root,
    iterate_tiles,
    make_root,
    use_one_thread,
)
from onlinefa.estimators._moments import compute_mean
from onlinefa.gaussian import LowRankGaussian

# With few rows, the likelihood is often largest where some column has no noise and a factor of its
# own (a Heywood case), and EM hardly leaves this point when further rows arrive. The share of noise
# in the variance of a column is therefore at least this constant over the number of rows.
_ROWS_OF_NOISE = 40
_LARGEST_FLOOR, _SMALLEST_FLOOR = 0.5, 1e-6
# The rows of a block are discarded after its steps of EM. To extract enough information from the
# first blocks, a block that is a share g of all rows gets `inner_steps` times g times a constant
# steps, and at least `inner_steps`. The constant is _EARLY_STEPS / D within these limits: the more
# columns there are, the better the rows determine the latent variables, and the faster EM
# converges.
_EARLY_STEPS = 10_000
_FEWEST_EARLY_STEPS, _MOST_EARLY_STEPS = 2, 40
# The first factors are principal components of about this number of rows of the first block.
_START_ROWS = 200
# Components whose variance is smaller than this share of the largest one are rounding errors.
_SMALLEST_COMPONENT = 1e-5


def count_inner_steps(inner_steps: int, share: float, D: int) -> int:
    """Compute the number of steps of EM for a block that is a share of all rows."""
    early = min(max(_EARLY_STEPS / D, _FEWEST_EARLY_STEPS), _MOST_EARLY_STEPS)
    return math.ceil(inner_steps * max(1, early * share))


def compute_noise_floor(rows: float) -> float:
    """Compute the smallest share of noise in the variance of a column after a number of rows."""
    return min(max(_ROWS_OF_NOISE / rows, _SMALLEST_FLOOR), _LARGEST_FLOOR)


class BlockLearner(Protocol):
    """A model that learns from whole blocks."""

    def absorb(self, block: AnyArray) -> None:
        """Learn from the rows of a block."""

    def parameters(self) -> tuple[AnyArray, AnyArray, AnyArray]:
        """Return mean, factors and noise of the Gaussian learned so far."""


def split_halves(block: AnyArray) -> list[tuple[AnyArray, AnyArray]]:
    """Split a block into halves, and pair each half to learn from with the other half to predict.

    The first block has no earlier model that predicts it: each half is predicted from the other.
    A block of fewer than four rows is not split.
    """
    one, two = block[..., ::2, :], block[..., 1::2, :]
    return [(one, two), (two, one)] if block.shape[-2] > 3 else []


class BlockState:
    """State of an estimator that learns in blocks: rows are stored until a block is full.

    The blocks do not depend on how the rows are divided among calls. In the middle of a block, the
    estimate is that of a copy of the learner, which absorbs the stored rows as a smaller block.
    Rows have shape (n, D), or (S, n, D) for S fits at once.

    Parameters
    ----------
    learner : BlockLearner
        The model.
    first : int
        Number of rows of the first block.
    size : int
        Number of rows of every other block.
    """

    def __init__(self, learner: BlockLearner, first: int, size: int) -> None:
        self.count = 0
        self.learner = learner
        self.first, self.size = first, size
        self.block: AnyArray | None = None  # allocated when rows are stored, filled up to `waiting`
        self.waiting = 0

    def absorb(self, X: AnyArray) -> None:
        """Learn from rows, in order."""
        while X.shape[-2]:
            full = self.first if self.count < self.first else self.size
            room = full - self.waiting
            rows, X = X[..., :room, :], X[..., room:, :]
            self.count += rows.shape[-2]
            if rows.shape[-2] < full:
                rows = self._store(rows, full)
            if rows.shape[-2] == full:  # rows that are a whole block are not copied
                with use_one_thread():
                    self.learner.absorb(rows)
                self.waiting = 0

    def _store(self, rows: AnyArray, full: int) -> AnyArray:
        """Store rows, and return all rows that are stored."""
        *trials, n, D = rows.shape
        if self.block is None or self.block.shape[-2] < full:
            xp = array_namespace(rows)
            self.block = xp.empty((*trials, full, D), dtype=rows.dtype, device=rows.device)
        self.block[..., self.waiting : self.waiting + n, :] = rows
        self.waiting += n
        return self.block[..., : self.waiting, :]

    def parameters(self) -> tuple[AnyArray, AnyArray, AnyArray]:
        """Return mean, factors and noise learned from all rows, including the stored ones."""
        learner = self.learner
        with use_one_thread():
            if self.waiting and self.block is not None:
                learner = copy.deepcopy(learner)
                learner.absorb(self.block[..., : self.waiting, :])
            return learner.parameters()

    def estimate(self) -> LowRankGaussian:
        """Return the Gaussian learned from all rows, including the stored ones."""
        return LowRankGaussian(*self.parameters())


class _Deviations:
    """Rows Y such that Y'Y is the part of the covariance around the mean that a block adds.

    They are computed tile by tile, whenever they are needed: all of them at once would take as much
    memory as the block, which for many columns is more than all other arrays take together.
    """

    def __init__(self, block: AnyArray, mean: AnyArray, old: float) -> None:
        xp = array_namespace(block)
        *trials, b, D = block.shape
        total = old + b
        self.block = block
        self.centre = xp.concat(
            [compute_mean(block[..., tile]) for tile in iterate_tiles(mean)], axis=-1
        )
        self.shift = self.centre - mean
        self._last = math.sqrt(old * b / total) * self.shift
        self._scale = 1 / math.sqrt(total)
        widest = max(tile.stop - tile.start for tile in iterate_tiles(mean))
        self._buffer = xp.empty((*trials, b + 1, widest), dtype=block.dtype, device=block.device)
        self._in_buffer: slice | None = None
        self.shape = (*trials, b + 1, D)

    def __getitem__(self, tile: slice) -> AnyArray:
        """Return the columns of a tile; the array is overwritten by the next tile."""
        rows = self._buffer[..., : tile.stop - tile.start]
        if tile != self._in_buffer:
            rows[..., :-1, :] = self.block[..., tile]
            rows[..., :-1, :] -= self.centre[..., None, tile]
            rows[..., -1, :] = self._last[..., tile]
            rows *= self._scale
            self._in_buffer = tile
        return rows

    def sum_squares(self) -> AnyArray:
        """Compute the sum of squares of each column."""
        xp = array_namespace(self.block)
        return xp.concat(
            [xp.sum(self[tile] ** 2, axis=-2) for tile in iterate_tiles(self.shift)], axis=-1
        )


def sum_row_squares(F: AnyArray) -> AnyArray:
    """Compute the sum of squares of each row of matrices."""
    return array_namespace(F).vecdot(F, F, axis=-1)


class RecursiveModel:
    """Factor analysis model of the rows absorbed so far.

    The likelihood of factor analysis depends on the rows through their covariance S alone. For
    every block, S is replaced by the average of the covariance of the block and that of the model
    so far, weighted by their numbers of rows, and a few steps of EM fit the model to it. S is never
    formed. EM starts from the principal components of the first block, in units of the standard
    deviations of its columns, so that the model does not depend on the units of any column.

    Arrays may have a leading axis, for several fits at once.

    Parameters
    ----------
    empty : ndarray of shape (D, K)
        An array with the shape, type and device of the factors. Its values are not used.
    inner_steps : int
        Number of steps of EM for each block, more for the first ones.
    window : int or None, default=None
        Older rows are down-weighted so that the effective sample size never exceeds `window`, or
        the size of the block if that is larger. None weights all rows equally.

    Attributes
    ----------
    rows : float
        Effective number of rows absorbed.
    mean : ndarray of shape (D,)
        Mean of the rows.
    F : ndarray of shape (D, K)
        Factors.
    psi : ndarray of shape (D,)
        Variances of the noise; zero for columns that have not varied.
    variances : ndarray of shape (D,)
        Variances of the rows. Those of the model are equal to them, except for columns whose noise
        is at its lower limit.
    """

    def __init__(self, empty: AnyArray, inner_steps: int, window: int | None = None) -> None:
        xp = array_namespace(empty)
        self.rows = 0.0
        self.inner_steps = inner_steps
        self.window = math.inf if window is None else window
        self.F = empty
        zeros = xp.zeros(empty.shape[:-1], dtype=empty.dtype, device=empty.device)
        self.mean, self.variances, self.psi = zeros, zeros, zeros + 1

    def parameters(self) -> tuple[AnyArray, AnyArray, AnyArray]:
        """Return mean, factors and noise."""
        return self.mean, self.F, self.psi

    def absorb(self, block: AnyArray) -> None:
        """Learn from the rows of a block."""
        xp, b = array_namespace(block), block.shape[-2]
        old = min(self.rows, max(self.window - b, 0))
        total = old + b
        Y = _Deviations(block, self.mean, old)
        self.mean = self.mean + Y.shift * (b / total)
        new = Y.sum_squares()
        self.variances = new + (old / total) * self.variances
        if self.rows == 0:
            self.F = _find_components(Y, self.variances, self.F.shape[-1])
            self.psi = self.variances - sum_row_squares(self.F)
        diagonal = new + (old / total) * (sum_row_squares(self.F) + self.psi)
        smallest = xp.where(self.variances > 0, compute_noise_floor(total) * diagonal, 1.0)
        steps = count_inner_steps(self.inner_steps, b / total, block.shape[-1])
        self._maximise(steps, Y, old / total, diagonal, smallest)
        self.rows = total

    def _maximise(
        self, steps: int, Y: _Deviations, share: float, diagonal: AnyArray, smallest: AnyArray
    ) -> None:
        """Take steps of EM towards the covariance S = Y'Y + share (F0 F0' + psi0).

        `diagonal` is the diagonal of S. EM alone learns the length of a strong factor slowly. With
        a free covariance E[z z'] of the latent variables, which is then merged into the factors,
        one step learns it (parameter expansion: Liu, Rubin and Wu, 1998), and after each step the
        variances are those of S.
        """
        xp = array_namespace(self.F)
        F0, psi0 = self.F, self.psi
        F, psi = xp.asarray(F0, copy=True), xp.maximum(psi0, smallest)
        products = _Products(Y, share, F0, psi0)
        for tile in iterate_tiles(psi):
            products.add(tile, F, psi)
        for _ in range(steps):
            YW, F0W, R = products.expect(F)
            products = _Products(Y, share, F0, psi0)
            for tile in iterate_tiles(psi):
                SW = (YW.mT @ Y[tile]).mT
                if share:
                    W = F[..., tile, :] / psi[..., tile, None]
                    SW += share * (F0[..., tile, :] @ F0W + psi0[..., tile, None] * W)
                F[..., tile, :] = SW @ R
                noise = diagonal[..., tile] - sum_row_squares(F[..., tile, :])
                psi[..., tile] = xp.maximum(noise, smallest[..., tile])
                products.add(tile, F, psi)  # while the deviations of the tile are in the cache
        self.F, self.psi = F, xp.where(self.variances > 0, psi, 0.0)


class _Products:
    """Products of all columns that a step of EM needs, added tile by tile.

    With W = F / psi, they are Y W, F'W, F0'W and W' psi0 W. The last two belong to the earlier rows
    and are left out for the first block.
    """

    def __init__(self, Y: _Deviations, share: float, F0: AnyArray, psi0: AnyArray) -> None:
        self.Y, self.share, self.F0, self.psi0 = Y, share, F0, psi0
        self._sums: list[AnyArray] = []

    def add(self, tile: slice, F: AnyArray, psi: AnyArray) -> None:
        """Add the products of a tile of columns."""
        xp = array_namespace(F)
        W = F[..., tile, :] / psi[..., tile, None]
        parts = [self.Y[tile] @ W, F[..., tile, :].mT @ W]
        if self.share:
            parts.append(self.F0[..., tile, :].mT @ W)
            parts.append(W.mT @ (self.psi0[..., tile, None] * W))
        # K x K matrices are always float64. In float32 and with many columns, rounding would
        # lose the variance in M of a factor that the rows do not determine.
        parts = [xp.astype(part, xp.float64, copy=False) for part in parts]
        if self._sums:
            parts = [one + two for one, two in zip(self._sums, parts, strict=True)]
        self._sums = parts

    def expect(self, F: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
        """Compute Y W, F0'W and the matrix R such that the new factors are S W R."""
        xp = array_namespace(F)
        YW, FW, *earlier = self._sums
        F0W, noise = earlier or (FW, FW)  # not used if there are no earlier rows
        M = invert(xp.eye(F.shape[-1], dtype=xp.float64, device=F.device) + FW)
        second = M + M @ (YW.mT @ YW + self.share * (F0W.mT @ F0W + noise)) @ M
        R = M @ invert_root(make_root(second)).mT
        YW, F0W, R = (xp.astype(each, F.dtype, copy=False) for each in (YW, F0W, R))
        return YW, F0W, R


def _find_components(Y: _Deviations, variances: AnyArray, K: int) -> AnyArray:
    """Compute factors from the principal components of rows, in units of standard deviations.

    They are the factors of probabilistic PCA (Tipping and Bishop, 1999). If the rows have fewer
    than K components, cosines take the place of the others, because EM does not change a factor of
    zeros.
    """
    xp = array_namespace(variances)
    *trials, n, D = Y.shape
    stride = max(1, n // max(_START_ROWS, 2 * K))
    deviations = xp.sqrt(variances)
    scale = xp.where(deviations > 0, 1 / xp.where(deviations > 0, deviations, 1.0), 0.0)

    def standardise(tile: slice) -> AnyArray:
        return Y[tile][..., ::stride, :] * scale[..., None, tile]

    # Components are combinations of the rows, which follow from the products of rows.
    parts = (standardise(tile) for tile in iterate_tiles(variances))
    products = sum(xp.astype(part @ part.mT, xp.float64, copy=False) for part in parts)
    values, vectors = (xp.flip(each, axis=-1) for each in decompose(xp.linalg.eigh, products))
    found = min(K, values.shape[-1])
    leading, rest = values[..., :found], values[..., found:]
    exist = leading > _SMALLEST_COMPONENT * leading[..., :1]
    varying = xp.sum(deviations > 0, axis=-1, keepdims=True)
    noise = xp.sum(rest, axis=-1, keepdims=True) / xp.clip(varying - found, 1, None)
    signal = xp.maximum(leading - noise, _SMALLEST_COMPONENT * leading)
    lengths = xp.sqrt(stride * xp.where(exist, signal / xp.where(exist, leading, 1.0), 0.0))
    combinations = vectors[..., :found] * lengths[..., None, :]
    combinations = xp.astype(combinations, variances.dtype, copy=False)
    # Each factor is contiguous: products of rows with few factors are several times as fast.
    rows = xp.zeros((*trials, K, D), dtype=variances.dtype, device=variances.device)
    for tile in iterate_tiles(variances):
        rows[..., :found, tile] = combinations.mT @ standardise(tile)
    if found < K or not exist.all():
        missing = xp.ones((*trials, K), dtype=xp.bool, device=rows.device)
        missing[..., :found] = ~exist
        rows = xp.where(missing[..., None], _make_cosines(rows), rows)
    return (rows * deviations[..., None, :]).mT


def _make_cosines(rows: AnyArray) -> AnyArray:
    """Return orthogonal rows with half of the length of unit vectors, like the given ones."""
    xp = array_namespace(rows)
    K, D = rows.shape[-2:]
    column = xp.arange(D, dtype=rows.dtype, device=rows.device)[None, :]
    number = xp.arange(K, dtype=rows.dtype, device=rows.device)[:, None]
    return xp.cos(math.pi / D * (column + 0.5) * (number + 1)) / math.sqrt(2 * D)
