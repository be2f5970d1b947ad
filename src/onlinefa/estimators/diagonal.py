"""The control that every other estimator must beat: independent columns."""

from __future__ import annotations

import numpy as np

from onlinefa.estimators.base import FactorEstimator
from onlinefa.gaussian import LowRankGaussian
from onlinefa.moments import RunningMoments


class Diagonal(FactorEstimator):
    """No factors, and the sample variance of each column as its noise.

    Examples
    --------
    >>> from onlinefa import Diagonal
    >>> Diagonal().fit([[0.0, 1.0], [2.0, 5.0]]).noise_variance_
    array([1., 4.])
    """

    def _start(self, D: int) -> _State:
        return _State(D)


class _State(RunningMoments):
    def estimate(self) -> LowRankGaussian:
        return LowRankGaussian(self.mean, np.empty((len(self.mean), 0)), self.second)
