"""Expectation-maximisation in blocks of rows, where the model represents all earlier rows."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, Protocol

from threadpoolctl import ThreadpoolController

from onlinefa._arrays import (
    AnyArray,
    array_namespace,
    invert,
    invert_root,
    is_torch_array,
    make_root,
)
from onlinefa.estimators._moments import compute_mean
from onlinefa.gaussian import LowRankGaussian

# With few rows, the likelihood is often largest where some column has no noise and a factor of its
# own (a Heywood case), and EM hardly leaves this point when further rows arrive. The share of noise
# in the variance of a column is therefore at least this constant over the number of rows.
_ROWS_OF_NOISE = 40
_LARGEST_FLOOR, _SMALLEST_FLOOR = 0.5, 1e-6
# The rows of a block are discarded after its steps of EM. To extract enough information from the
# first blocks, a block that is a share g of all rows gets `inner_steps` times this constant times g
# steps, and at least `inner_steps`.
_EARLY_STEPS = 40
# Number of columns that are processed at once: with K = 10, their factors fit into a cache of
# 1 MiB. Apart from the factors before and after a step, no array of their size is stored.
_TILE = 4096


def count_inner_steps(inner_steps: int, share: float) -> int:
    """Compute the number of steps of EM for a block that is a share of all rows."""
    return math.ceil(inner_steps * max(1, _EARLY_STEPS * share))


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


@cache
def _find_thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


def use_one_thread() -> AbstractContextManager[Any]:
    """Return a context in which NumPy's matrix products use one thread.

    The products of a block are too small for several threads. On a machine that is busy, waiting
    for the slowest thread makes them up to 30 times slower.
    """
    return _find_thread_pools().limit(limits=1, user_api="blas")


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


def iterate_tiles(columns: AnyArray) -> Iterator[slice]:
    """Iterate over columns, the last axis of an array, in tiles that fit into the cache of a CPU.

    On other devices, all columns are one tile.
    """
    D = columns.shape[-1]
    if is_torch_array(columns) and columns.device.type != "cpu":
        return iter([slice(0, D)])
    return (slice(start, min(start + _TILE, D)) for start in range(0, D, _TILE))


def sum_row_squares(F: AnyArray) -> AnyArray:
    """Compute the sum of squares of each row of matrices."""
    return array_namespace(F).vecdot(F, F, axis=-1)


class RecursiveModel:
    """Factor analysis model of the rows absorbed so far.

    The likelihood of factor analysis depends on the rows through their covariance S alone. For
    every block, S is replaced by the average of the covariance of the block and that of the model
    so far, weighted by their numbers of rows, and a few steps of EM fit the model to it. S is never
    formed. The variances of the first block set the scale, so that the model does not depend on the
    units of any column.

    Arrays may have a leading axis, for several fits at once.

    Parameters
    ----------
    factors : ndarray of shape (D, K)
        Initial factors, in units of the standard deviations of the columns.
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

    def __init__(self, factors: AnyArray, inner_steps: int, window: int | None = None) -> None:
        xp = array_namespace(factors)
        self.rows = 0.0
        self.inner_steps = inner_steps
        self.window = math.inf if window is None else window
        self.F = factors
        empty = xp.zeros(factors.shape[:-1], dtype=factors.dtype, device=factors.device)
        self.mean, self.variances, self.psi = empty, empty, empty + 1

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
            # Half of each variance becomes noise, the other half scales the factors.
            self.F = self.F * xp.sqrt(self.variances / 2)[..., None]
            self.psi = self.variances / 2
        diagonal = new + (old / total) * (sum_row_squares(self.F) + self.psi)
        smallest = xp.where(self.variances > 0, compute_noise_floor(total) * diagonal, 1.0)
        steps = count_inner_steps(self.inner_steps, b / total)
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
        for _ in range(steps):
            M, second, YW, F0W = self._expect(Y, share, F, psi)
            R = xp.astype(M @ invert_root(make_root(second)).mT, F.dtype, copy=False)
            for tile in iterate_tiles(psi):
                W = F[..., tile, :] / psi[..., tile, None]
                SW = Y[tile].mT @ YW
                SW += share * (F0[..., tile, :] @ F0W + psi0[..., tile, None] * W)
                F[..., tile, :] = SW @ R
                psi[..., tile] = diagonal[..., tile] - sum_row_squares(F[..., tile, :])
            psi = xp.maximum(psi, smallest)
        self.F, self.psi = F, xp.where(self.variances > 0, psi, 0.0)

    def _expect(
        self, Y: _Deviations, share: float, F: AnyArray, psi: AnyArray
    ) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
        """Compute M, E[z z'], Y W and F0'W, where W = F / psi and M is the covariance of z."""
        xp = array_namespace(F)
        F0, psi0 = self.F, self.psi
        sums: list[AnyArray] = []
        for tile in iterate_tiles(psi):
            W = F[..., tile, :] / psi[..., tile, None]
            parts = [
                Y[tile] @ W,
                F[..., tile, :].mT @ W,
                F0[..., tile, :].mT @ W,
                W.mT @ (psi0[..., tile, None] * W),
            ]
            # K x K matrices are always float64. In float32 and with many columns, rounding would
            # lose the variance in M of a factor that the rows do not determine.
            parts = [xp.astype(part, xp.float64, copy=False) for part in parts]
            sums = [one + two for one, two in zip(sums, parts, strict=True)] if sums else parts
        YW, FW, F0W, noise = sums
        M = invert(xp.eye(F.shape[-1], dtype=xp.float64, device=F.device) + FW)
        second = M + M @ (YW.mT @ YW + share * (F0W.mT @ F0W + noise)) @ M
        return M, second, xp.astype(YW, F.dtype, copy=False), xp.astype(F0W, F.dtype, copy=False)
