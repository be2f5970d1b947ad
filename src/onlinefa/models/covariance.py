"""Covariance functions of Gaussian processes, with gradients in the logarithms of their parameters.

Parameters are standard deviations and lengths: positive, and so best searched on a logarithmic
scale.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from typing import Self

import numpy as np

from onlinefa.gaussian import Array


@dataclass(frozen=True)
class Covariance(ABC):
    """k(x, x'), for the rows of two arrays."""

    @abstractmethod
    def __call__(self, A: Array, B: Array) -> Array:
        """All k(a, b): of shape (rows of A, rows of B)."""

    @abstractmethod
    def diagonal(self, A: Array) -> Array:
        """All k(a, a)."""

    @abstractmethod
    def gradients(self, A: Array) -> Iterator[Array]:
        """The derivative of k(A, A) in the logarithm of each parameter, one after the other."""

    def logarithms(self) -> Array:
        return np.log(astuple(self))

    @classmethod
    def of_logarithms(cls, logarithms: Array) -> Self:
        return cls(*np.exp(logarithms).tolist())


@dataclass(frozen=True)
class SquaredExponential(Covariance):
    """(2.16), with an amplitude and a length: amplitude^2 exp(-|x - x'|^2 / (2 length^2))."""

    amplitude: float = 1.0
    length: float = 1.0

    def __call__(self, A: Array, B: Array) -> Array:
        return self.amplitude**2 * np.exp(-self._squares(A, B) / 2)

    def diagonal(self, A: Array) -> Array:
        return np.full(len(A), self.amplitude**2)

    def gradients(self, A: Array) -> Iterator[Array]:
        squares, values = self._squares(A, A), self(A, A)
        yield 2 * values
        yield values * squares

    def _squares(self, A: Array, B: Array) -> Array:
        """Squared distances in units of the length."""
        from scipy.spatial.distance import cdist

        return cdist(A / self.length, B / self.length, "sqeuclidean")


@dataclass(frozen=True)
class Linear(Covariance):
    """x'x times sigma^2: that of a linear regression with the prior N(0, sigma^2 I)."""

    sigma: float = 1.0

    def __call__(self, A: Array, B: Array) -> Array:
        return self.sigma**2 * A @ B.T

    def diagonal(self, A: Array) -> Array:
        return self.sigma**2 * np.sum(A**2, axis=1)

    def gradients(self, A: Array) -> Iterator[Array]:
        yield 2 * self(A, A)


@dataclass(frozen=True)
class NeuralNetwork(Covariance):
    """The limit of a wide network with one hidden layer of erf units: sigma_b^2 + omega^2 k_NN.

    f(x) = b + sum_h v_h erf(w_h'x) with b ~ N(0, sigma_b^2), v_h ~ N(0, omega^2 / H) and
    w_h ~ N(0, sigma_w^2 I) has this covariance for every H, and becomes a Gaussian process as H
    grows. k_NN is (2.29) with Sigma_w = sigma_w^2 I; (2.29) leaves out the two other constants.
    """

    sigma_w: float = 1.0
    omega: float = 1.0
    sigma_b: float = 1.0

    def __call__(self, A: Array, B: Array) -> Array:
        return self.sigma_b**2 + self.omega**2 * 2 / np.pi * np.arcsin(self._sines(A, B))

    def diagonal(self, A: Array) -> Array:
        square = 2 * self.sigma_w**2 * np.sum(A**2, axis=1)
        return self.sigma_b**2 + self.omega**2 * 2 / np.pi * np.arcsin(square / (1 + square))

    def gradients(self, A: Array) -> Iterator[Array]:
        # With s = 2 sigma_w^2, n = |x|^2 and r = s x'x / sqrt((1 + s n)(1 + s n')), the derivative
        # of r in log sigma_w is r (1 / (1 + s n) + 1 / (1 + s n')).
        sines = self._sines(A, A)
        shares = 1 / (1 + 2 * self.sigma_w**2 * np.sum(A**2, axis=1))
        slope = sines * np.add.outer(shares, shares) / np.sqrt(1 - sines**2)
        yield self.omega**2 * 2 / np.pi * slope
        yield self.omega**2 * 4 / np.pi * np.arcsin(sines)
        yield np.full((len(A), len(A)), 2 * self.sigma_b**2)

    def _sines(self, A: Array, B: Array) -> Array:
        """The argument of the arcsine, which is below one in exact arithmetic."""
        square = 2 * self.sigma_w**2
        a, b = (np.sqrt(1 + square * np.sum(X**2, axis=1)) for X in (A, B))
        return np.clip(square * (A / a[:, None]) @ (B / b[:, None]).T, -1 + 1e-15, 1 - 1e-15)
