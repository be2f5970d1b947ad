"""The recursion of block EM: what was learned stands in for the rows it was learned from."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Protocol

import numpy as np

from onlinefa.gaussian import Array, LowRankGaussian
from onlinefa.moments import mean_of

# With few rows the likelihood is often largest where some column has no noise at all and a factor
# to itself (a Heywood case). Further rows would hardly move EM away from there, so that noise stays
# above a share of the column's variance: this many over the number of rows.
_ROWS_OF_NOISE = 40
_LARGEST_FLOOR, _SMALLEST_FLOOR = 0.5, 1e-6
# What the first blocks leave unlearned is lost, because from then on the model stands in for their
# rows. A block that is a share g of all rows gets this many times g as many steps, if that is more.
_EARLY_STEPS = 40
# Columns that are worked on at once: with K = 10 their factors fit into a cache of 1 MiB. Nothing
# else of the size of the factors is kept but the factors, before and after.
_TILE = 4096


def inner_steps_of(inner_steps: int, share: float) -> int:
    """Steps of EM for a block that is this share of all rows."""
    return math.ceil(inner_steps * max(1, _EARLY_STEPS * share))


def smallest_share(rows: float) -> float:
    """The share of a column's variance that is noise at least, after so many rows."""
    return min(max(_ROWS_OF_NOISE / rows, _SMALLEST_FLOOR), _LARGEST_FLOOR)


class Learner(Protocol):
    """What learns from whole blocks."""

    def absorb(self, block: Array) -> None:
        """Learn from the rows of a block."""

    def estimate(self) -> LowRankGaussian:
        """The Gaussian learned so far."""


def halves(block: Array) -> list[tuple[Array, Array]]:
    """Rows to learn from and rows to predict, both ways: for a block that no model came before."""
    return [(block[::2], block[1::2]), (block[1::2], block[::2])] if len(block) > 3 else []


class Blocks:
    """The state of an estimator that learns in blocks: rows wait until theirs is full.

    However rows arrive, they are absorbed in the same blocks. An estimate that is asked for in the
    middle of a block is that of a copy, which takes the rows that wait for a block of their own.
    """

    def __init__(self, learner: Learner, first: int, size: int) -> None:
        self.count = 0
        self.learner = learner
        self.first, self.size = first, size
        self.block: Array | None = None  # made when rows have to wait, filled up to `waiting`
        self.waiting = 0

    def absorb(self, X: Array) -> None:
        while len(X):
            full = self.first if self.count < self.first else self.size
            rows, X = np.split(X, [full - self.waiting])
            self.count += len(rows)
            if len(rows) == full:  # nothing waits: no need for a copy
                self.learner.absorb(rows)
            else:
                self._wait(rows, full)

    def _wait(self, rows: Array, full: int) -> None:
        if self.block is None or len(self.block) < full:
            self.block = np.empty((full, rows.shape[1]), rows.dtype)
        self.block[self.waiting : self.waiting + len(rows)] = rows
        self.waiting += len(rows)
        if self.waiting == full:
            self.learner.absorb(self.block[:full])
            self.waiting = 0

    def estimate(self) -> LowRankGaussian:
        if not self.waiting or self.block is None:
            return self.learner.estimate()
        learner = copy.deepcopy(self.learner)
        learner.absorb(self.block[: self.waiting])
        return learner.estimate()


class _Deviations:
    """Rows whose squares are what a block adds to the covariance around the mean of all rows.

    They are made tile by tile, whenever they are needed: all of them at once would take as much
    memory as the block, which for many columns is more than everything else takes together.
    """

    def __init__(self, block: Array, mean: Array, old: float) -> None:
        total = old + len(block)
        self.block = block
        self.centre = np.concatenate([mean_of(block[:, tile]) for tile in tiles(len(mean))])
        self.shift = self.centre - mean
        self._last = math.sqrt(old * len(block) / total) * self.shift
        self._scale = block.dtype.type(1 / math.sqrt(total))
        self._buffer = np.empty((len(block) + 1) * min(_TILE, block.shape[1]), block.dtype)
        self._in_buffer: slice | None = None

    def __len__(self) -> int:
        return len(self.block) + 1

    def __getitem__(self, tile: slice) -> Array:
        """The columns of a tile, until another one is asked for."""
        columns = len(self._last[tile])
        rows = self._buffer[: len(self) * columns].reshape(len(self), columns)
        if tile != self._in_buffer:
            np.subtract(self.block[:, tile], self.centre[tile], out=rows[:-1])
            rows[-1] = self._last[tile]
            rows *= self._scale
            self._in_buffer = tile
        return rows

    def squares(self) -> Array:
        """The sum of squares of each column."""
        return np.concatenate(
            [np.einsum("nd,nd->d", self[tile], self[tile]) for tile in tiles(len(self.shift))]
        )


def tiles(D: int) -> Iterator[slice]:
    """The columns, so many at a time."""
    return (slice(start, start + _TILE) for start in range(0, D, _TILE))


def _squares(F: Array) -> Array:
    """The sum of squares of each row, without a copy of F."""
    return np.einsum("dk,dk->d", F, F)


class RecursiveModel:
    """A factor analysis model of the rows absorbed so far.

    The likelihood of factor analysis depends on the rows through their covariance S alone. With
    every block, S is taken to be the average of the block's own covariance and that of the model
    so far, weighted by their numbers of rows, and a few steps of EM fit the model to it. S is never
    formed. Everything starts from the variances of the first block, so that the scale of the data,
    and that of each column, makes no difference.

    With a `window`, the model and the block never count for more than so many rows, or for the
    block's if they are more: what is older fades away.
    """

    def __init__(self, factors: Array, inner_steps: int, window: int | None = None) -> None:
        D, dtype = len(factors), factors.dtype
        self.rows = 0.0
        self.inner_steps = inner_steps
        self.window = math.inf if window is None else window
        self.mean = np.zeros(D, dtype)
        self.F = factors  # in units of the columns' standard deviations until there are any
        self.psi = np.ones(D, dtype)
        self.variances = np.zeros(D, dtype)
        """Of the rows. The model's own are the same, but for columns where noise is held up."""

    def estimate(self) -> LowRankGaussian:
        return LowRankGaussian(self.mean, self.F, self.psi)

    def absorb(self, block: Array) -> None:
        b = len(block)
        old = min(self.rows, max(self.window - b, 0))
        total = old + b
        Y = _Deviations(block, self.mean, old)
        self.mean = self.mean + Y.shift * (b / total)
        new = Y.squares()
        self.variances = new + (old / total) * self.variances
        if self.rows == 0:
            # Half of each variance is noise, the other half is for the factors.
            self.F = self.F * np.sqrt(self.variances / 2)[:, None]
            self.psi = self.variances / 2
        diagonal = new + (old / total) * (_squares(self.F) + self.psi)
        smallest = np.where(self.variances > 0, smallest_share(total) * diagonal, 1)
        steps = inner_steps_of(self.inner_steps, b / total)
        self._maximise(steps, Y, old / total, diagonal, smallest)
        self.rows = total

    def _maximise(
        self, steps: int, Y: _Deviations, share: float, diagonal: Array, smallest: Array
    ) -> None:
        """Steps of EM towards the covariance S = Y'Y + share (F0 F0' + psi0), whose diagonal it is.

        EM alone learns the length of a strong factor slowly. With a free covariance E[z z'] of the
        latent variables, which then goes into the factors, it is learned in a step (parameter
        expansion: Liu, Rubin and Wu, 1998), and variances are those of S after each.
        """
        F0, psi0, F, psi = self.F, self.psi, self.F.copy(), np.maximum(self.psi, smallest)
        for _ in range(steps):
            M, second, YW, F0W = self._expect(Y, share, F, psi)
            R = (M @ np.linalg.inv(np.linalg.cholesky(second)).T).astype(F.dtype)
            for tile in tiles(len(F)):
                W = F[tile] / psi[tile, None]
                SW = Y[tile].T @ YW + share * (F0[tile] @ F0W + psi0[tile, None] * W)
                F[tile] = SW @ R
                psi[tile] = diagonal[tile] - _squares(F[tile])
            np.maximum(psi, smallest, out=psi)
        self.F, self.psi = F, np.where(self.variances > 0, psi, 0)

    def _expect(
        self, Y: _Deviations, share: float, F: Array, psi: Array
    ) -> tuple[Array, Array, Array, Array]:
        """The covariance M of z given an observation; E[z z']; and Y W and F0'W for W = F / psi."""
        F0, psi0, eye = self.F, self.psi, np.eye(F.shape[1])
        # What is small is in float64 always: a factor that the rows say nothing of has a variance
        # of M, which beside those of the others would be lost in float32 if columns are many.
        YW, FW, F0W, noise = np.zeros((len(Y), len(eye))), 0 * eye, 0 * eye, 0 * eye
        for tile in tiles(len(F)):
            W = F[tile] / psi[tile, None]
            YW += Y[tile] @ W
            FW += F[tile].T @ W
            F0W += F0[tile].T @ W
            noise += W.T @ (psi0[tile, None] * W)
        M = np.linalg.inv(eye + FW).astype(np.float64)
        second = M + M @ (YW.T @ YW + share * (F0W.T @ F0W + noise)) @ M
        return M, second, YW.astype(F.dtype), F0W.astype(F.dtype)
