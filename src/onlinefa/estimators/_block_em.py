"""Expectation-maximisation in blocks of rows, where the model represents all earlier rows."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Protocol

import numpy as np

from onlinefa.estimators._moments import compute_mean
from onlinefa.gaussian import Array, LowRankGaussian

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

    def absorb(self, block: Array) -> None:
        """Learn from the rows of a block."""

    def estimate(self) -> LowRankGaussian:
        """Return the Gaussian learned so far."""


def split_halves(block: Array) -> list[tuple[Array, Array]]:
    """Split a block into halves, and pair each half to learn from with the other half to predict.

    The first block has no earlier model that predicts it: each half is predicted from the other.
    A block of fewer than four rows is not split.
    """
    return [(block[::2], block[1::2]), (block[1::2], block[::2])] if len(block) > 3 else []


class BlockState:
    """State of an estimator that learns in blocks: rows are stored until a block is full.

    The blocks do not depend on how the rows are divided among calls. In the middle of a block, the
    estimate is that of a copy of the learner, which absorbs the stored rows as a smaller block.

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
        self.block: Array | None = None  # allocated when rows are stored, filled up to `waiting`
        self.waiting = 0

    def absorb(self, X: Array) -> None:
        """Learn from rows, in order."""
        while len(X):
            full = self.first if self.count < self.first else self.size
            rows, X = np.split(X, [full - self.waiting])
            self.count += len(rows)
            if len(rows) == full:  # a whole block: there is no need to copy it
                self.learner.absorb(rows)
            else:
                self._store(rows, full)

    def _store(self, rows: Array, full: int) -> None:
        if self.block is None or len(self.block) < full:
            self.block = np.empty((full, rows.shape[1]), rows.dtype)
        self.block[self.waiting : self.waiting + len(rows)] = rows
        self.waiting += len(rows)
        if self.waiting == full:
            self.learner.absorb(self.block[:full])
            self.waiting = 0

    def estimate(self) -> LowRankGaussian:
        """Return the Gaussian learned from all rows, including the stored ones."""
        if not self.waiting or self.block is None:
            return self.learner.estimate()
        learner = copy.deepcopy(self.learner)
        learner.absorb(self.block[: self.waiting])
        return learner.estimate()


class _Deviations:
    """Rows Y such that Y'Y is the part of the covariance around the mean that a block adds.

    They are computed tile by tile, whenever they are needed: all of them at once would take as much
    memory as the block, which for many columns is more than all other arrays take together.
    """

    def __init__(self, block: Array, mean: Array, old: float) -> None:
        total = old + len(block)
        self.block = block
        self.centre = np.concatenate(
            [compute_mean(block[:, tile]) for tile in iterate_tiles(len(mean))]
        )
        self.shift = self.centre - mean
        self._last = math.sqrt(old * len(block) / total) * self.shift
        self._scale = block.dtype.type(1 / math.sqrt(total))
        self._buffer = np.empty((len(block) + 1) * min(_TILE, block.shape[1]), block.dtype)
        self._in_buffer: slice | None = None

    def __len__(self) -> int:
        return len(self.block) + 1

    def __getitem__(self, tile: slice) -> Array:
        """Return the columns of a tile; the array is overwritten by the next tile."""
        columns = len(self._last[tile])
        rows = self._buffer[: len(self) * columns].reshape(len(self), columns)
        if tile != self._in_buffer:
            np.subtract(self.block[:, tile], self.centre[tile], out=rows[:-1])
            rows[-1] = self._last[tile]
            rows *= self._scale
            self._in_buffer = tile
        return rows

    def sum_squares(self) -> Array:
        """Compute the sum of squares of each column."""
        return np.concatenate(
            [
                np.einsum("nd,nd->d", self[tile], self[tile])
                for tile in iterate_tiles(len(self.shift))
            ]
        )


def iterate_tiles(D: int) -> Iterator[slice]:
    """Iterate over D columns in tiles that fit into a cache."""
    return (slice(start, start + _TILE) for start in range(0, D, _TILE))


def _sum_row_squares(F: Array) -> Array:
    """Compute the sum of squares of each row without a copy of F."""
    return np.einsum("dk,dk->d", F, F)


class RecursiveModel:
    """Factor analysis model of the rows absorbed so far.

    The likelihood of factor analysis depends on the rows through their covariance S alone. For
    every block, S is replaced by the average of the covariance of the block and that of the model
    so far, weighted by their numbers of rows, and a few steps of EM fit the model to it. S is never
    formed. The variances of the first block set the scale, so that the model does not depend on the
    units of any column.

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

    def __init__(self, factors: Array, inner_steps: int, window: int | None = None) -> None:
        D, dtype = len(factors), factors.dtype
        self.rows = 0.0
        self.inner_steps = inner_steps
        self.window = math.inf if window is None else window
        self.mean = np.zeros(D, dtype)
        self.F = factors
        self.psi = np.ones(D, dtype)
        self.variances = np.zeros(D, dtype)

    def estimate(self) -> LowRankGaussian:
        """Return the model as a Gaussian."""
        return LowRankGaussian(self.mean, self.F, self.psi)

    def absorb(self, block: Array) -> None:
        """Learn from the rows of a block."""
        b = len(block)
        old = min(self.rows, max(self.window - b, 0))
        total = old + b
        Y = _Deviations(block, self.mean, old)
        self.mean = self.mean + Y.shift * (b / total)
        new = Y.sum_squares()
        self.variances = new + (old / total) * self.variances
        if self.rows == 0:
            # Half of each variance becomes noise, the other half scales the factors.
            self.F = self.F * np.sqrt(self.variances / 2)[:, None]
            self.psi = self.variances / 2
        diagonal = new + (old / total) * (_sum_row_squares(self.F) + self.psi)
        smallest = np.where(self.variances > 0, compute_noise_floor(total) * diagonal, 1)
        steps = count_inner_steps(self.inner_steps, b / total)
        self._maximise(steps, Y, old / total, diagonal, smallest)
        self.rows = total

    def _maximise(
        self, steps: int, Y: _Deviations, share: float, diagonal: Array, smallest: Array
    ) -> None:
        """Take steps of EM towards the covariance S = Y'Y + share (F0 F0' + psi0).

        `diagonal` is the diagonal of S. EM alone learns the length of a strong factor slowly. With
        a free covariance E[z z'] of the latent variables, which is then merged into the factors,
        one step learns it (parameter expansion: Liu, Rubin and Wu, 1998), and after each step the
        variances are those of S.
        """
        F0, psi0, F, psi = self.F, self.psi, self.F.copy(), np.maximum(self.psi, smallest)
        for _ in range(steps):
            M, second, YW, F0W = self._expect(Y, share, F, psi)
            R = (M @ np.linalg.inv(np.linalg.cholesky(second)).T).astype(F.dtype)
            for tile in iterate_tiles(len(F)):
                W = F[tile] / psi[tile, None]
                SW = Y[tile].T @ YW + share * (F0[tile] @ F0W + psi0[tile, None] * W)
                F[tile] = SW @ R
                psi[tile] = diagonal[tile] - _sum_row_squares(F[tile])
            np.maximum(psi, smallest, out=psi)
        self.F, self.psi = F, np.where(self.variances > 0, psi, 0)

    def _expect(
        self, Y: _Deviations, share: float, F: Array, psi: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Compute M, E[z z'], Y W and F0'W, where W = F / psi and M is the covariance of z."""
        F0, psi0, eye = self.F, self.psi, np.eye(F.shape[1])
        # K x K matrices are always float64. In float32 and with many columns, rounding would lose
        # the variance in M of a factor that the rows do not determine.
        YW, FW, F0W, noise = np.zeros((len(Y), len(eye))), 0 * eye, 0 * eye, 0 * eye
        for tile in iterate_tiles(len(F)):
            W = F[tile] / psi[tile, None]
            YW += Y[tile] @ W
            FW += F[tile].T @ W
            F0W += F0[tile].T @ W
            noise += W.T @ (psi0[tile, None] * W)
        M = np.linalg.inv(eye + FW).astype(np.float64)
        second = M + M @ (YW.T @ YW + share * (F0W.T @ F0W + noise)) @ M
        return M, second, YW.astype(F.dtype), F0W.astype(F.dtype)
