"""A model of recursive EM with factors shrunk to the variance that later rows confirm."""

from __future__ import annotations

import copy
from functools import partial

from onlinefa._arrays import AnyArray, array_namespace, decompose, iterate_tiles
from onlinefa.estimators._block_em import (
    RecursiveModel,
    split_halves,
    sum_row_squares,
)

# The variance of a factor is compared with later rows only if earlier models predicted, on average,
# at least this share of its present variance.
_ENOUGH = 0.1
# Largest share of the variance of a column that is due to factors; the rest has to be noise.
_LARGEST_SHARE = 0.99


class ShrunkModel:
    """A model, and the variances along its factors: predicted (`promised`) and `observed`.

    The factors are those of the model in units of its noise, in which they are orthogonal, the
    largest first. They are matched by their rank from one block to the next.

    Parameters
    ----------
    model : RecursiveModel
        The model, which may be one of several fits at once.
    """

    def __init__(self, model: RecursiveModel) -> None:
        self.model = model
        self.rows = 0.0
        xp = array_namespace(model.F)
        self.promised = xp.zeros_like(model.F[..., 0, :], dtype=xp.float64)
        self.observed = self.promised

    def absorb(self, block: AnyArray) -> None:
        """Compare a block with the model, then learn from it."""
        b = block.shape[-2]
        if self.model.rows == 0:
            for half, other in split_halves(block):
                model = copy.copy(self.model)
                model.absorb(half)
                self._compare(model, other)
        else:
            # Later models are better, and their predictions are closest to those of the present
            # model: weights grow with the square of the number of rows.
            decay = (self.model.rows / (self.model.rows + b)) ** 2
            self.rows *= decay
            self.promised, self.observed = decay * self.promised, decay * self.observed
            self._compare(self.model, block)
        self.model.absorb(block)

    def _compare(self, model: RecursiveModel, rows: AnyArray) -> None:
        """Add the predicted and the observed variance along each factor, in units of the noise.

        The noise is that of the rows outside of the span of the factors: the noise of the model is
        too small when it was learned from few rows.
        """
        xp, n = array_namespace(rows), rows.shape[-2]
        U, excess, units = _decompose(model)
        D, K = U.shape[-2:]
        projections = xp.zeros((*rows.shape[:-1], K), dtype=xp.float64, device=U.device)
        squares = xp.zeros(rows.shape[:-2], dtype=xp.float64, device=U.device)
        for tile in iterate_tiles(units):  # all columns at once need twice the memory of the block
            Z = (rows[..., tile] - model.mean[..., None, tile]) / units[..., None, tile]
            projections += Z @ U[..., tile, :]
            squares += xp.sum(Z**2, axis=(-2, -1))
        along = xp.sum(projections**2, axis=-2)
        noise = ((squares - xp.sum(along, axis=-1)) / (D - K))[..., None]
        self.rows += n
        self.promised = self.promised + n * excess
        observed = along / (xp.where(noise > 0, noise, 1.0) / n) - n
        self.observed = self.observed + xp.where(noise > 0, observed, 0.0)

    def parameters(self) -> tuple[AnyArray, AnyArray, AnyArray]:
        """Return mean, shrunk factors and noise."""
        xp = array_namespace(self.model.F)
        U, excess, units = _decompose(self.model)
        lengths = xp.astype(xp.sqrt(excess * self._confirmed_share(excess)), U.dtype)
        factors = units[..., None] * U * lengths[..., None, :]
        variances = self.model.variances
        squares, most = sum_row_squares(factors), _LARGEST_SHARE * variances
        too_long = squares > most
        shorter = xp.sqrt(most / xp.where(too_long, squares, 1.0))
        factors *= xp.where(too_long, shorter, 1.0)[..., None]
        return self.model.mean, factors, variances - sum_row_squares(factors)

    def _confirmed_share(self, excess: AnyArray) -> AnyArray:
        """Compute the share of each factor's variance that is kept."""
        xp = array_namespace(excess)
        # Earlier predictions are used only if they were not much smaller than the present one.
        judged = self.promised > _ENOUGH * self.rows * excess
        ratio = xp.where(judged, self.observed, 0.0) / xp.where(judged, self.promised, 1.0)
        # A leading eigenvalue 1 + g of n rows is too large by D (1 + g) / (n g) on average, and its
        # direction explains too little by the same amount. A factor is not shrunk by more than
        # twice that: with many rows, the observed ratio is the less certain of the two.
        D, n = self.model.mean.shape[-1], self.model.rows
        known = xp.where(excess > 0, excess, 1.0)
        least = xp.where(excess > 0, 1 - 4 * D * (1 + known) / (n * known**2), 0.0)
        return xp.maximum(xp.clip(ratio, 0, 1), least)


def _decompose(model: RecursiveModel) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Compute orthonormal directions U and variances of the factors in units of the noise.

    The third array holds the units: the covariance is
    diag(units) (U diag(variances) U' + I) diag(units).
    """
    xp = array_namespace(model.F)
    units = xp.sqrt(xp.where(model.psi > 0, model.psi, 1.0))
    svd = partial(xp.linalg.svd, full_matrices=False)
    U, singular, _ = decompose(svd, model.F / units[..., None])
    return U, singular**2, units
