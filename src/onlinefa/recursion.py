"""The recursion of block EM: what was learned stands in for the rows it was learned from."""

from __future__ import annotations

import copy
import math
from typing import Protocol

import numpy as np

from onlinefa.gaussian import Array, LowRankGaussian

# With few rows the likelihood is often largest where some column has no noise at all and a factor
# to itself (a Heywood case). Further rows would hardly move EM away from there, so that noise stays
# above a share of the column's variance: this many over the number of rows.
_ROWS_OF_NOISE = 40
_LARGEST_FLOOR, _SMALLEST_FLOOR = 0.5, 1e-6
# What the first blocks leave unlearned is lost, because from then on the model stands in for their
# rows. A block that is a share g of all rows gets this many times g as many steps, if that is more.
_EARLY_STEPS = 40


class Learner(Protocol):
    """What learns from whole blocks."""

    def absorb(self, block: Array) -> None:
        """Learn from the rows of a block."""

    def estimate(self) -> LowRankGaussian:
        """The Gaussian learned so far."""


class Blocks:
    """The state of an estimator that learns in blocks: rows wait until theirs is full.

    However rows arrive, they are absorbed in the same blocks. An estimate that is asked for in the
    middle of a block is that of a copy, which takes the rows that wait for a block of their own.
    """

    def __init__(self, learner: Learner, first: int, size: int) -> None:
        self.count = 0
        self.learner = learner
        self.waiting: list[Array] = []
        self.room = first
        self.size = size

    def absorb(self, X: Array) -> None:
        self.count += len(X)
        while len(X) >= self.room:
            self.learner.absorb(np.concatenate([*self.waiting, X[: self.room]]))
            self.waiting, X, self.room = [], X[self.room :], self.size
        if len(X):
            self.waiting.append(X.copy())
            self.room -= len(X)

    def estimate(self) -> LowRankGaussian:
        if not self.waiting:
            return self.learner.estimate()
        learner = copy.deepcopy(self.learner)
        learner.absorb(np.concatenate(self.waiting))
        return learner.estimate()


class RecursiveModel:
    """A factor analysis model of the rows absorbed so far.

    The likelihood of factor analysis depends on the rows through their covariance S alone. With
    every block, S is taken to be the average of the block's own covariance and that of the model
    so far, weighted by their numbers of rows, and a few steps of EM fit the model to it. S is never
    formed. Everything starts from the variances of the first block, so that the scale of the data,
    and that of each column, makes no difference.

    With a `window`, the model never counts for more than so many rows, block included: what is
    older fades away.
    """

    def __init__(self, factors: Array, inner_steps: int, window: int | None = None) -> None:
        self.rows = 0.0
        self.inner_steps = inner_steps
        self.window = math.inf if window is None else window
        self.mean = np.zeros(len(factors))
        self.F = factors  # in units of the columns' standard deviations until there are any
        self.psi = np.ones(len(factors))

    @property
    def variances(self) -> Array:
        return np.sum(self.F**2, axis=1) + self.psi

    def estimate(self) -> LowRankGaussian:
        return LowRankGaussian(self.mean, self.F, self.psi)

    def absorb(self, block: Array) -> None:
        b = len(block)
        old = min(self.rows, max(self.window - b, 0))
        total = old + b
        deviations = self._centred(block, old)
        new = np.sum(deviations**2, axis=0) / total
        if self.rows == 0:
            # Half of each variance is noise, the other half is for the factors.
            variances = new
            self.F = self.F * np.sqrt(variances / 2)[:, None]
            self.psi = variances / 2
        else:
            variances = new + (old / total) * self.variances
        steps = math.ceil(self.inner_steps * max(1, _EARLY_STEPS * b / total))
        share = np.clip(_ROWS_OF_NOISE / total, _SMALLEST_FLOOR, _LARGEST_FLOOR)
        smallest = np.where(variances > 0, share * variances, 1.0)
        self._maximise(steps, deviations / np.sqrt(total), old / total, variances, smallest)
        self.mean = self.mean + (block.mean(axis=0) - self.mean) * (b / total)
        self.rows = total

    def _centred(self, block: Array, old: float) -> Array:
        """Rows whose squares are what the block adds to the scatter around the mean of all rows:
        its deviations from its own mean, and one row for how far that is from the mean so far."""
        mean = block.mean(axis=0)
        shift = np.sqrt(old * len(block) / (old + len(block))) * (mean - self.mean)
        return np.concatenate([block - mean, shift[None, :]])

    def _maximise(
        self, steps: int, Y: Array, share: float, variances: Array, smallest: Array
    ) -> None:
        """Steps of EM towards the covariance S = Y'Y + share (F0 F0' + psi0)."""
        F0, psi0, F, psi = self.F, self.psi, self.F, self.psi
        eye = np.eye(F.shape[1])
        for _ in range(steps):
            W = F / np.maximum(psi, smallest)[:, None]
            M = np.linalg.inv(eye + F.T @ W)
            SW = Y.T @ (Y @ W) + share * (F0 @ (F0.T @ W) + psi0[:, None] * W)
            F = SW @ np.linalg.inv(eye + M @ (W.T @ SW))
            psi = np.maximum(variances - np.sum((F @ M) * SW, axis=1), smallest)
        self.F, self.psi = F, np.where(variances > 0, psi, 0.0)
