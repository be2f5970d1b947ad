"""SWAG: the moments of a walk and its last deviations (Maddox et al., 2019)."""

from __future__ import annotations

import numpy as np

from onlinefa.estimators.base import FactorEstimator
from onlinefa.gaussian import Array, LowRankGaussian
from onlinefa.moments import RunningMoments


class SWAG(FactorEstimator):
    """Half of the variances, plus half of the sample covariance of the last K deviations.

    The covariance is diag(variances) / 2 + D D' / (2 (K - 1)), where the columns of D are the last
    K rows less the running mean at their time. For K = 1 the formula divides by zero; the divisor
    is 2 then. Until K rows are seen, the missing columns are zero.

    Parameters
    ----------
    n_components : K, the number of deviations kept, below the number of columns

    Examples
    --------
    >>> import numpy as np
    >>> from onlinefa import SWAG
    >>> SWAG(n_components=2).fit([[0.0, 0.0, 0.0], [2.0, 0.0, 4.0]]).components_ * np.sqrt(2)
    array([[0., 0., 0.],
           [1., 0., 2.]])
    """

    def __init__(self, n_components: int = 1) -> None:
        self.n_components = n_components

    def _start(self, D: int) -> _State:
        return _State(D, self.n_components)


class _State(RunningMoments):
    def __init__(self, D: int, K: int) -> None:
        super().__init__(D)
        self.deviations = np.zeros((K, D))  # the latest last

    def absorb(self, X: Array) -> None:
        K = len(self.deviations)
        recent = X[-K:]
        # The running mean at each of the recent rows, from what was known before them.
        known = self.count + len(X) - len(recent)
        total = self.count * self.mean + X[: -len(recent)].sum(axis=0)
        counts = known + np.arange(1, len(recent) + 1)
        means = (total + np.cumsum(recent, axis=0)) / counts[:, None]
        self.deviations = np.vstack([self.deviations, recent - means])[-K:]
        super().absorb(X)

    def estimate(self) -> LowRankGaussian:
        K = len(self.deviations)
        factors = self.deviations.T / np.sqrt(2 * max(K - 1, 1))
        return LowRankGaussian(self.mean, factors, self.second / 2)
