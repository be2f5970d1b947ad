"""Recursive expectation-maximisation in blocks: online, and as good as maximum likelihood."""

from __future__ import annotations

import copy
import math
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from onlinefa.estimators.base import FactorEstimator
from onlinefa.gaussian import Array, LowRankGaussian

# With few rows the likelihood is often largest where some column has no noise at all and a factor
# to itself (a Heywood case). Further rows would hardly move EM away from there, so that noise stays
# above a share of the column's variance: this many over the number of rows.
_ROWS_OF_NOISE = 40
_LARGEST_FLOOR, _SMALLEST_FLOOR = 0.5, 1e-6
# What the first blocks leave unlearned is lost, because from then on the model stands in for their
# rows. A block that is a share g of all rows gets this many times g as many steps, if that is more.
_EARLY_STEPS = 20


class RecursiveEM(FactorEstimator):
    """Maximum likelihood in blocks: what was learned stands in for the rows it was learned from.

    The likelihood of factor analysis depends on the rows through their covariance S alone. After
    every block, S is taken to be the average of the block's own covariance and that of the model so
    far, weighted by their numbers of rows, and a few steps of EM fit the model to it. S is never
    formed: memory is O(D (K + block)). Everything starts from the variances of the first rows, so
    that the scale of the data, and that of each column, makes no difference.

    Parameters
    ----------
    n_components : K, the number of factors, below the number of columns
    block_size : rows that are absorbed at once; they are kept until a block is full
    inner_steps : steps of EM for each block; more for the first ones, which have more to tell
    warm_up : rows of the first block, whose variances set the scale
    init_factors : array of shape (D, K), or None for random orthonormal ones; in units of the
        columns' standard deviations
    random_state : seed of the random initial factors

    Examples
    --------
    >>> import numpy as np
    >>> from onlinefa import RecursiveEM
    >>> rows = np.random.default_rng(0).normal(size=(500, 5)) @ np.diag([3, 1, 1, 1, 1])
    >>> model = RecursiveEM(n_components=1, random_state=0).fit(rows[:450]).partial_fit(rows[450:])
    >>> model.n_samples_seen_, model.gaussian().factors.shape
    (500, (5, 1))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FactorEstimator._parameter_constraints,
        "block_size": [Interval(Integral, 1, None, closed="left")],
        "inner_steps": [Interval(Integral, 1, None, closed="left")],
        "warm_up": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        block_size: int = 100,
        inner_steps: int = 5,
        warm_up: int = 100,
        init_factors: Array | None = None,
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.block_size = block_size
        self.inner_steps = inner_steps
        self.warm_up = warm_up
        self.init_factors = init_factors
        self.random_state = random_state

    def _start(self, D: int) -> _State:
        model = _Model(self._initial_factors(D), self.inner_steps)
        return _State(model, self.warm_up, self.block_size)


class _State:
    """Rows that wait for their block to be full, and the model of all earlier ones."""

    def __init__(self, model: _Model, warm_up: int, block_size: int) -> None:
        self.model = model
        self.waiting: list[Array] = []
        self.room = warm_up
        self.block_size = block_size
        self.count = 0

    def absorb(self, X: Array) -> None:
        self.count += len(X)
        while len(X) >= self.room:
            self.model.absorb(np.concatenate([*self.waiting, X[: self.room]]))
            self.waiting, X, self.room = [], X[self.room :], self.block_size
        if len(X):
            self.waiting.append(X.copy())
            self.room -= len(X)

    def estimate(self) -> LowRankGaussian:
        model = self.model
        if self.waiting:  # they still belong to a block to come, and so a copy absorbs them
            model = copy.copy(model)
            model.absorb(np.concatenate(self.waiting))
        return LowRankGaussian(model.mean, model.F, model.psi)


class _Model:
    """The model of the rows absorbed so far. Arrays are replaced, never changed."""

    def __init__(self, factors: Array, inner_steps: int) -> None:
        self.rows = 0
        self.inner_steps = inner_steps
        self.mean = np.zeros(len(factors))
        self.F = factors
        self.psi = np.ones(len(factors))

    def absorb(self, block: Array) -> None:
        deviations = self._centred(block)
        total = self.rows + len(block)
        new = np.sum(deviations**2, axis=0) / total
        variances = new + (self.rows / total) * (np.sum(self.F**2, axis=1) + self.psi)
        if self.rows == 0:
            # Half of each variance is noise, the other half is for the factors.
            variances = new
            self.F = self.F * np.sqrt(variances / 2)[:, None]
            self.psi = variances / 2
        steps = math.ceil(self.inner_steps * max(1, _EARLY_STEPS * len(block) / total))
        share = np.clip(_ROWS_OF_NOISE / total, _SMALLEST_FLOOR, _LARGEST_FLOOR)
        smallest = np.where(variances > 0, share * variances, 1.0)
        self._maximise(steps, deviations / np.sqrt(total), self.rows / total, variances, smallest)
        self.mean = self.mean + (block.mean(axis=0) - self.mean) * (len(block) / total)
        self.rows = total

    def _centred(self, block: Array) -> Array:
        """Rows whose squares are what the block adds to the scatter around the mean of all rows:
        its deviations from its own mean, and one row for how far that is from the mean so far."""
        n, b = self.rows, len(block)
        mean = block.mean(axis=0)
        shift = np.sqrt(n * b / (n + b)) * (mean - self.mean)
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
