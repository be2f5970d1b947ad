"""SWAG: the moments of an SGD trajectory and its last deviations (Maddox et al., 2019)."""

from __future__ import annotations

import math
from typing import ClassVar

from onlinefa._arrays import ArrayKind, iterate_tiles
from onlinefa.estimators._constraints import Constraints, allow_integers
from onlinefa.estimators._moments import ROW_TILE, RunningMoments
from onlinefa.estimators.base import FactorEstimator
from onlinefa.gaussian import Array, LowRankGaussian


class SWAG(FactorEstimator):
    """SWAG: half of the variances plus half of the sample covariance of the last K deviations.

    The covariance is diag(variances) / 2 + D D' / (2 (K - 1)), where the columns of D are the last
    K rows minus the running mean at their time. For K = 1 the formula divides by zero; the divisor
    is then 2. Until K rows are seen, the missing columns are zero. The t-th deviation, from t = 0,
    is in column t modulo K.

    Parameters
    ----------
    n_components : int, default=1
        Number of deviations K that are kept, smaller than the number of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from onlinefa import SWAG
    >>> SWAG(n_components=2).fit([[0.0, 0.0, 0.0], [2.0, 0.0, 4.0]]).components_ * np.sqrt(2)
    array([[0., 0., 0.],
           [1., 0., 2.]])
    """

    single_precision = True
    accepts_tensors = True

    _parameter_constraints: ClassVar[Constraints] = {"n_components": allow_integers(1)}

    def __init__(self, n_components: int = 1) -> None:
        self.n_components = n_components

    def _start(self, D: int) -> _State:
        return _State(D, self.n_components, self._kind)


class _State(RunningMoments):
    def __init__(self, D: int, K: int, kind: ArrayKind) -> None:
        super().__init__(D, kind=kind)
        # The t-th deviation is in row t modulo K, so that no row has to move when another arrives.
        # They have the precision of the rows, since for a network they take most of the memory,
        # and the scale of factors, so that an estimate needs a single copy of them.
        self.factors: Array = kind.zeros(K, D)
        self.scale = 1 / math.sqrt(2 * max(K - 1, 1))

    def absorb(self, X: Array) -> None:
        K = len(self.factors)
        if len(X) > K:  # only the last K rows have deviations
            super().absorb(X[:-K])
        for row in X[-K:]:
            super().absorb(row[None])
            factor = self.factors[(self.count - 1) % K]
            for tile in iterate_tiles(row, ROW_TILE):
                factor[tile] = (row[tile] - self.mean[tile]) * self.scale

    def estimate(self) -> LowRankGaussian:
        return LowRankGaussian(self.mean, self.factors.T, self.second / 2)
