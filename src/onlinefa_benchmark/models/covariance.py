"""Covariance functions of Gaussian processes, with gradients in the logarithms of their parameters.

Parameters are standard deviations and length scales. They are positive, and are therefore
optimised on a logarithmic scale.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from typing import Self

import numpy as np

from onlinefa_benchmark.arrays import Array


@dataclass(frozen=True)
class Covariance(ABC):
    """Base class of covariance functions k(x, x')."""

    @abstractmethod
    def __call__(self, A: Array, B: Array) -> Array:
        """Return k(a, b) for all rows a of A and b of B, of shape (rows of A, rows of B)."""

    @abstractmethod
    def diagonal(self, A: Array) -> Array:
        """Return k(a, a) for all rows a of A."""

    @abstractmethod
    def gradients(self, A: Array) -> Iterator[Array]:
        """Yield the derivative of k(A, A) in the logarithm of each parameter."""

    def logarithms(self) -> Array:
        """Return the logarithms of the parameters."""
        return np.log(astuple(self))

    @classmethod
    def of_logarithms(cls, logarithms: Array) -> Self:
        """Return the covariance function whose parameters have these logarithms."""
        return cls(*np.exp(logarithms).tolist())


@dataclass(frozen=True)
class SquaredExponential(Covariance):
    """The squared exponential (2.16): amplitude^2 exp(-|x - x'|^2 / (2 length^2)).

    Parameters
    ----------
    amplitude : float
        Standard deviation of the process at each input.
    length : float
        Length scale.
    """

    amplitude: float = 1.0
    length: float = 1.0

    def __call__(self, A: Array, B: Array) -> Array:
        """Return k(a, b) for all rows a of A and b of B."""
        return self.amplitude**2 * np.exp(-self._squares(A, B) / 2)

    def diagonal(self, A: Array) -> Array:
        """Return k(a, a) for all rows a of A."""
        return np.full(len(A), self.amplitude**2)

    def gradients(self, A: Array) -> Iterator[Array]:
        """Yield the derivatives in the logarithms of `amplitude` and `length`."""
        squares, values = self._squares(A, A), self(A, A)
        yield 2 * values
        yield values * squares

    def _squares(self, A: Array, B: Array) -> Array:
        """Return squared distances in units of the length scale."""
        from scipy.spatial.distance import cdist

        return cdist(A / self.length, B / self.length, "sqeuclidean")


@dataclass(frozen=True)
class Linear(Covariance):
    """The dot product times sigma^2, the covariance of a linear regression.

    The prior of the regression's weights is N(0, sigma^2 I).

    Parameters
    ----------
    sigma : float
        Prior standard deviation of each weight.
    """

    sigma: float = 1.0

    def __call__(self, A: Array, B: Array) -> Array:
        """Return k(a, b) for all rows a of A and b of B."""
        return self.sigma**2 * A @ B.T

    def diagonal(self, A: Array) -> Array:
        """Return k(a, a) for all rows a of A."""
        return self.sigma**2 * np.sum(A**2, axis=1)

    def gradients(self, A: Array) -> Iterator[Array]:
        """Yield the derivative in the logarithm of `sigma`."""
        yield 2 * self(A, A)


@dataclass(frozen=True)
class NeuralNetwork(Covariance):
    """The limit of wide networks with one hidden layer of erf units: sigma_b^2 + omega^2 k_NN.

    f(x) = b + sum_h v_h erf(w_h'x) with b ~ N(0, sigma_b^2), v_h ~ N(0, omega^2 / H) and
    w_h ~ N(0, sigma_w^2 I) has this covariance for every H, and becomes a Gaussian process as H
    grows. k_NN is (2.29) with Sigma_w = sigma_w^2 I; (2.29) leaves out the two other constants.

    Parameters
    ----------
    sigma_w : float
        Prior standard deviation of the weights of the hidden layer.
    omega : float
        Prior standard deviation of the weights of the output layer, times sqrt(H).
    sigma_b : float
        Prior standard deviation of the bias.
    """

    sigma_w: float = 1.0
    omega: float = 1.0
    sigma_b: float = 1.0

    def __call__(self, A: Array, B: Array) -> Array:
        """Return k(a, b) for all rows a of A and b of B."""
        return self.sigma_b**2 + self.omega**2 * 2 / np.pi * np.arcsin(self._sines(A, B))

    def diagonal(self, A: Array) -> Array:
        """Return k(a, a) for all rows a of A."""
        square = 2 * self.sigma_w**2 * np.sum(A**2, axis=1)
        return self.sigma_b**2 + self.omega**2 * 2 / np.pi * np.arcsin(square / (1 + square))

    def gradients(self, A: Array) -> Iterator[Array]:
        """Yield the derivatives in the logarithms of `sigma_w`, `omega` and `sigma_b`."""
        # With s = 2 sigma_w^2, n = |x|^2 and r = s x'x / sqrt((1 + s n)(1 + s n')), the derivative
        # of r in log sigma_w is r (1 / (1 + s n) + 1 / (1 + s n')).
        sines = self._sines(A, A)
        shares = 1 / (1 + 2 * self.sigma_w**2 * np.sum(A**2, axis=1))
        slope = sines * np.add.outer(shares, shares) / np.sqrt(1 - sines**2)
        yield self.omega**2 * 2 / np.pi * slope
        yield self.omega**2 * 4 / np.pi * np.arcsin(sines)
        yield np.full((len(A), len(A)), 2 * self.sigma_b**2)

    def _sines(self, A: Array, B: Array) -> Array:
        """Return the arguments of the arcsine, which are below one in exact arithmetic."""
        square = 2 * self.sigma_w**2
        a, b = (np.sqrt(1 + square * np.sum(X**2, axis=1)) for X in (A, B))
        return np.clip(square * (A / a[:, None]) @ (B / b[:, None]).T, -1 + 1e-15, 1 - 1e-15)
