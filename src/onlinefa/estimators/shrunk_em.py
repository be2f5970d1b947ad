"""Recursive EM with factors shrunk to the variance that later rows confirm."""

from __future__ import annotations

import copy
from typing import ClassVar

import numpy as np

from onlinefa.estimators._block_em import (
    BlockState,
    RecursiveModel,
    iterate_tiles,
    split_halves,
)
from onlinefa.estimators._constraints import INITIALIZATION, Constraints, allow_integers
from onlinefa.estimators._initial_factors import make_initial_factors
from onlinefa.estimators.base import FactorEstimator
from onlinefa.gaussian import Array, LowRankGaussian

# The variance of a factor is compared with later rows only if earlier models predicted, on average,
# at least this share of its present variance.
_ENOUGH = 0.1
# Largest share of the variance of a column that is due to factors; the rest has to be noise.
_LARGEST_SHARE = 0.99


class ShrunkEM(FactorEstimator):
    """Recursive EM with each factor shrunk to the variance that later rows confirm.

    A factor that was learned from few rows also explains their noise, and its variance is larger
    than that of later rows along it. Before the model learns from a block, the variance of the
    block along each factor is compared with the variance that the model predicts. In the estimate,
    the factors are shrunk by the ratio, and the variance that they lose is added to the noise, so
    that the variances of the columns do not change. With few rows the result is close to
    `Diagonal`, with many to `RecursiveEM`. The first block has no earlier model: each of its halves
    is compared with the model of the other.

    Parameters
    ----------
    n_components : int, default=1
        Number of factors K, smaller than the number of columns.
    block_size : int, default=100
        Number of rows that are absorbed at once. Rows are stored until a block is full.
    inner_steps : int, default=5
        Number of steps of EM for each block; the first blocks get more, because they carry more
        information.
    warm_up : int, default=100
        Number of rows of the first block, whose variances set the scale, at least two.
    forgetting : int or None, default=None
        Effective sample size for rows whose distribution changes, as in `RecursiveEM`. None
        weights all rows equally.
    init_factors : array-like of shape (D, K) or None, default=None
        Initial factors, in units of the standard deviations of the columns. None draws random
        orthonormal ones.
    random_state : int, RandomState instance or None, default=None
        Seed of the random initial factors.

    Examples
    --------
    >>> import numpy as np
    >>> from onlinefa import ShrunkEM
    >>> rows = np.random.default_rng(0).normal(size=(100, 50))  # there is no factor
    >>> bool(np.abs(ShrunkEM(n_components=2, random_state=0).fit(rows).components_).max() < 0.3)
    True
    """

    single_precision = True

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": allow_integers(1),
        "block_size": allow_integers(1),
        "inner_steps": allow_integers(1),
        "warm_up": allow_integers(2),
        "forgetting": [*allow_integers(1), None],
        **INITIALIZATION,
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        block_size: int = 100,
        inner_steps: int = 5,
        warm_up: int = 100,
        forgetting: int | None = None,
        init_factors: Array | None = None,
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.block_size = block_size
        self.inner_steps = inner_steps
        self.warm_up = warm_up
        self.forgetting = forgetting
        self.init_factors = init_factors
        self.random_state = random_state

    def _start(self, D: int) -> BlockState:
        factors = make_initial_factors(
            D, self.n_components, self.init_factors, self.random_state, self._dtype
        )
        model = RecursiveModel(factors, self.inner_steps, self.forgetting)
        return BlockState(_ShrunkModel(model), self.warm_up, self.block_size)


class _ShrunkModel:
    """A model, and the variances along its factors: predicted (`promised`) and `observed`.

    The factors are those of the model in units of its noise, in which they are orthogonal, the
    largest first. They are matched by their rank from one block to the next.
    """

    def __init__(self, model: RecursiveModel) -> None:
        self.model = model
        self.rows = 0.0
        self.promised = np.zeros(model.F.shape[1])
        self.observed = np.zeros(model.F.shape[1])

    def absorb(self, block: Array) -> None:
        if self.model.rows == 0:
            for half, other in split_halves(block):
                model = copy.copy(self.model)
                model.absorb(half)
                self._compare(model, other)
        else:
            # Later models are better, and their predictions are closest to those of the present
            # model: weights grow with the square of the number of rows.
            decay = (self.model.rows / (self.model.rows + len(block))) ** 2
            self.rows *= decay
            self.promised, self.observed = decay * self.promised, decay * self.observed
            self._compare(self.model, block)
        self.model.absorb(block)

    def _compare(self, model: RecursiveModel, rows: Array) -> None:
        """Add the predicted and the observed variance along each factor, in units of the noise.

        The noise is that of the rows outside of the span of the factors: the noise of the model is
        too small when it was learned from few rows.
        """
        U, excess, units = _decompose(model)
        projections, squares = np.zeros((len(rows), U.shape[1])), 0.0
        for tile in iterate_tiles(len(U)):  # all columns at once need twice the memory of the block
            Z = (rows[:, tile] - model.mean[tile]) / units[tile]
            projections += Z @ U[tile]
            squares += np.sum(Z**2)
        along = np.sum(projections**2, axis=0)
        noise = (squares - np.sum(along)) / (len(U) - U.shape[1])
        self.rows += len(rows)
        self.promised = self.promised + len(rows) * excess
        if noise > 0:
            self.observed = self.observed + along / (noise / len(rows)) - len(rows)

    def estimate(self) -> LowRankGaussian:
        U, excess, units = _decompose(self.model)
        factors = units[:, None] * U * np.sqrt(excess * self._confirmed_share(excess))
        variances = self.model.variances
        squares, most = np.sum(factors**2, axis=1), _LARGEST_SHARE * variances
        too_long = squares > most
        factors[too_long] *= np.sqrt(most[too_long] / squares[too_long])[:, None]
        return LowRankGaussian(self.model.mean, factors, variances - np.sum(factors**2, axis=1))

    def _confirmed_share(self, excess: Array) -> Array:
        """Compute the share of each factor's variance that is kept."""
        # Earlier predictions are used only if they were not much smaller than the present one.
        judged = self.promised > _ENOUGH * self.rows * excess
        ratio = np.where(judged, self.observed, 0) / np.where(judged, self.promised, 1)
        observed = np.clip(ratio, 0, 1)
        # A leading eigenvalue 1 + g of n rows is too large by D (1 + g) / (n g) on average, and its
        # direction explains too little by the same amount. A factor is not shrunk by more than
        # twice that: with many rows, the observed ratio is the less certain of the two.
        D, n = len(self.model.mean), self.model.rows
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = 2 * D * (1 + excess) / (n * excess**2)
        return np.maximum(observed, 1 - np.nan_to_num(2 * expected, nan=1))


def _decompose(model: RecursiveModel) -> tuple[Array, Array, Array]:
    """Compute orthonormal directions U and variances of the factors in units of the noise.

    The third array holds the units: the covariance is
    diag(units) (U diag(variances) U' + I) diag(units).
    """
    units = np.sqrt(np.where(model.psi > 0, model.psi, 1.0))
    U, singular, _ = np.linalg.svd(model.F / units[:, None], full_matrices=False)
    return U, singular**2, units
