"""A start in the data's own units, for algorithms that take one row at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from onlinefa.gaussian import Array, LowRankGaussian
from onlinefa.moments import RunningMoments


class WarmStart(ABC):
    """A state that first takes the variances of some rows, and starts to learn from there.

    Half of each variance becomes noise, the other half scales the initial factors, as recursive EM
    has it: whatever the data's units are, learning starts with a model of about their size.
    """

    def __init__(self, factors: Array, warm_up: int) -> None:
        self.count = 0
        self.warm_up = warm_up
        self.moments = RunningMoments(len(factors))
        self.initial = factors

    def absorb(self, X: Array) -> None:
        first, rest = np.split(X, [max(self.warm_up - self.count, 0)])
        if len(first):
            self.moments.absorb(first)
            self.count = self.moments.count
            if self.count == self.warm_up:
                self._begin(self.moments.mean.copy(), *self._start())
        if len(rest):
            self._learn(rest)

    def estimate(self) -> LowRankGaussian:
        if self.count < self.warm_up:
            return LowRankGaussian(self.moments.mean, *self._start())
        return self._learned()

    def _start(self) -> tuple[Array, Array]:
        half = self.moments.second / 2
        return self.initial * np.sqrt(half)[:, None], half

    @abstractmethod
    def _begin(self, mean: Array, factors: Array, noise: Array) -> None:
        """Start from here; none of the arrays is used elsewhere."""

    @abstractmethod
    def _learn(self, X: Array) -> None:
        """Learn from rows after the warm-up."""

    @abstractmethod
    def _learned(self) -> LowRankGaussian:
        """The estimate after the warm-up."""
