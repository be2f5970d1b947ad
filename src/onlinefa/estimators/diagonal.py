"""Diagonal Gaussian, the baseline of all other estimators."""

from __future__ import annotations

from onlinefa.estimators._moments import RunningMoments
from onlinefa.estimators.base import FactorEstimator
from onlinefa.gaussian import LowRankGaussian


class Diagonal(FactorEstimator):
    """Gaussian with independent columns: no factors, and sample variances as noise.

    Examples
    --------
    >>> from onlinefa import Diagonal
    >>> Diagonal().fit([[0.0, 1.0], [2.0, 5.0]]).noise_variance_
    array([1., 4.])
    """

    accepts_tensors = True

    def _start(self, D: int) -> _State:
        return _State(D, kind=self._kind)


class _State(RunningMoments):
    def estimate(self) -> LowRankGaussian:
        return LowRankGaussian(self.mean, self.mean[:, None][:, :0], self.second)
