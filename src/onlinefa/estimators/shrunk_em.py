"""Recursive EM with factors shrunk to what the next rows confirm: for few rows and for many."""

from __future__ import annotations

import copy
from typing import ClassVar

import numpy as np

from onlinefa.constraints import Constraints
from onlinefa.estimators.base import FactorEstimator
from onlinefa.estimators.recursive_em import RecursiveEM
from onlinefa.gaussian import Array, LowRankGaussian
from onlinefa.recursion import Blocks, RecursiveModel, halves, tiles

_ENOUGH = 0.1
_LARGEST_SHARE = 0.99  # of a column's variance that is factors: the rest has to be noise


class ShrunkEM(RecursiveEM):
    """`RecursiveEM` with as much of each factor as the following rows confirm.

    A factor that was learned from few rows explains their noise as well, and promises more variance
    than rows to come will show. Before a block is learned from, its variance along each factor is
    held against the one that the model promises; the estimate has the factors shrunk by the ratio,
    and what they lose goes to the noise, so that variances stay. With few rows the result is
    close to the diagonal control, with many to `RecursiveEM`.

    The first block has no model before it: one of its halves is held against the other.

    Parameters
    ----------
    n_components : K, the number of factors, below the number of columns
    block_size, inner_steps, warm_up, forgetting, init_factors, random_state : as in `RecursiveEM`

    Examples
    --------
    >>> import numpy as np
    >>> from onlinefa import ShrunkEM
    >>> rows = np.random.default_rng(0).normal(size=(100, 50))  # no factor in fact
    >>> bool(np.abs(ShrunkEM(n_components=2, random_state=0).fit(rows).components_).max() < 0.3)
    True
    """

    constraints: ClassVar[Constraints] = {
        **RecursiveEM.constraints,
        "n_components": FactorEstimator.constraints["n_components"],
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
        super().__init__(
            n_components,
            block_size=block_size,
            inner_steps=inner_steps,
            warm_up=warm_up,
            forgetting=forgetting,
            init_factors=init_factors,
            random_state=random_state,
        )

    def _start(self, D: int) -> Blocks:
        model = self._model(self._initial_factors(D, int(self.n_components)))
        return Blocks(_Shrunk(model), self.warm_up, self.block_size)


class _Shrunk:
    """A model, and how much of the variance that it promised along each factor has been seen.

    Factors are those of the model in units of its noise, orthogonal there and the largest first;
    they are compared by their rank from one block to the next.
    """

    def __init__(self, model: RecursiveModel) -> None:
        self.model = model
        self.rows = 0.0
        self.promised = np.zeros(model.F.shape[1])
        self.seen = np.zeros(model.F.shape[1])

    def absorb(self, block: Array) -> None:
        if self.model.rows == 0:
            for half, other in halves(block):
                model = copy.copy(self.model)
                model.absorb(half)
                self._hold(model, other)
        else:
            # Later models are better, and so what counts for the present one is what its latest
            # predecessors promised: weights grow with the square of the number of rows.
            fading = (self.model.rows / (self.model.rows + len(block))) ** 2
            self.rows *= fading
            self.promised, self.seen = fading * self.promised, fading * self.seen
            self._hold(self.model, block)
        self.model.absorb(block)

    def _hold(self, model: RecursiveModel, rows: Array) -> None:
        """Compare the variance along each factor, in units of the noise, with what was promised.

        That noise is the rows' own, outside of the factors: the model's is too small as long as
        few rows are learned from.
        """
        U, excess, units = _canonical(model)
        projections, squares = np.zeros((len(rows), U.shape[1])), 0.0
        for tile in tiles(len(U)):  # all columns at once would be as large as the block, twice
            Z = (rows[:, tile] - model.mean[tile]) / units[tile]
            projections += Z @ U[tile]
            squares += np.sum(Z**2)
        along = np.sum(projections**2, axis=0)
        noise = (squares - np.sum(along)) / (len(U) - U.shape[1])
        self.rows += len(rows)
        self.promised = self.promised + len(rows) * excess
        if noise > 0:
            self.seen = self.seen + along / (noise / len(rows)) - len(rows)

    def estimate(self) -> LowRankGaussian:
        U, excess, units = _canonical(self.model)
        factors = units[:, None] * U * np.sqrt(excess * self._confirmed(excess))
        variances = self.model.variances
        squares, most = np.sum(factors**2, axis=1), _LARGEST_SHARE * variances
        too_long = squares > most
        factors[too_long] *= np.sqrt(most[too_long] / squares[too_long])[:, None]
        return LowRankGaussian(self.model.mean, factors, variances - np.sum(factors**2, axis=1))

    def _confirmed(self, excess: Array) -> Array:
        """The share of each factor that stays."""
        # What was promised must have been about as much as is promised now, to tell anything of it.
        told = self.promised > _ENOUGH * self.rows * excess
        seen = np.clip(np.where(told, self.seen, 0) / np.where(told, self.promised, 1), 0, 1)
        # A leading eigenvalue 1 + g of n rows is too large by D (1 + g) / (n g) on average, and its
        # direction explains as much too little. What was seen is not trusted beyond twice of that:
        # with many rows, it is only less certain.
        D, n = len(self.model.mean), self.model.rows
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = 2 * D * (1 + excess) / (n * excess**2)
        return np.maximum(seen, 1 - np.nan_to_num(2 * expected, nan=1))


def _canonical(model: RecursiveModel) -> tuple[Array, Array, Array]:
    """Orthonormal directions U and variances of the factors in units of the noise, and these units.

    The covariance is diag(units) (U diag(variances) U' + I) diag(units).
    """
    units = np.sqrt(np.where(model.psi > 0, model.psi, 1.0))
    U, singular, _ = np.linalg.svd(model.F / units[:, None], full_matrices=False)
    return U, singular**2, units
