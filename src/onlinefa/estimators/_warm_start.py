"""Warm start in the units of the data, for algorithms that process one row at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from onlinefa.estimators._moments import RunningMoments
from onlinefa.gaussian import Array, LowRankGaussian


class WarmStart(ABC):
    """State that measures the variances of the first rows and starts to learn after them.

    Half of each variance becomes noise, and the other half scales the initial factors, as in
    recursive EM. Learning therefore starts with a model on the scale of the data.

    Parameters
    ----------
    factors : ndarray of shape (D, K)
        Initial factors, in units of the standard deviations of the columns.
    warm_up : int
        Number of rows whose variances are measured.
    """

    def __init__(self, factors: Array, warm_up: int) -> None:
        self.count = 0
        self.warm_up = warm_up
        self.moments = RunningMoments(len(factors))
        self.initial = factors

    def absorb(self, X: Array) -> None:
        """Learn from rows, in order."""
        first, rest = np.split(X, [max(self.warm_up - self.count, 0)])
        if len(first):
            self.moments.absorb(first)
            self.count = self.moments.count
            if self.count == self.warm_up:
                self._begin(self.moments.mean.copy(), *self._initial_model())
        if len(rest):
            self._learn(rest)

    def estimate(self) -> LowRankGaussian:
        """Return the Gaussian learned so far."""
        if self.count < self.warm_up:
            return LowRankGaussian(self.moments.mean, *self._initial_model())
        return self._learned()

    def _initial_model(self) -> tuple[Array, Array]:
        """Compute factors and noise from equal parts of the variances measured so far."""
        half = self.moments.second / 2
        return self.initial * np.sqrt(half)[:, None], half

    @abstractmethod
    def _begin(self, mean: Array, factors: Array, noise: Array) -> None:
        """Start from a model, whose arrays may be modified."""

    @abstractmethod
    def _learn(self, X: Array) -> None:
        """Learn from rows after the warm-up."""

    @abstractmethod
    def _learned(self) -> LowRankGaussian:
        """Return the estimate after the warm-up."""
