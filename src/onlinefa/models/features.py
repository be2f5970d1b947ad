"""Gaussian processes on a few features: for tables with more rows than a Cholesky decomposition can
take. Seed 004's section 6.5 has both kinds.

With features phi such that phi(x)'phi(x') is about k(x, x'), the process is about a linear
regression on phi(x) with the prior N(0, I), in time O(N M^2) for M features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onlinefa.gaussian import Array
from onlinefa.models.covariance import Covariance, NeuralNetwork, SquaredExponential
from onlinefa.models.gaussian_process import cholesky

Features = Callable[[Array], Array]
"""From inputs of shape (N, p) to features of shape (N, M)."""


@dataclass(frozen=True, eq=False)
class FeatureRegression:
    """Targets y at inputs X, explained by features with weights from N(0, I), and noise."""

    X: Array
    y: Array
    features: Features
    noise: float

    @cached_property
    def _cholesky(self) -> Array:
        """Of A = I + Phi'Phi / noise, the precision of the weights."""
        Phi = self.features(self.X)
        return cholesky(np.eye(Phi.shape[1]) + Phi.T @ Phi / self.noise)

    def predict(self, inputs: Array) -> tuple[Array, Array]:
        """Mean and variance of the function, without noise, at each row."""
        from scipy.linalg import cho_solve, solve_triangular

        mean = cho_solve((self._cholesky, True), self.features(self.X).T @ self.y / self.noise)
        Phi = self.features(inputs)
        return Phi @ mean, np.sum(solve_triangular(self._cholesky, Phi.T, lower=True) ** 2, axis=0)


def random_features(
    covariance: Covariance, dimension: int, M: int, random: np.random.Generator
) -> Features:
    """Features of which any number is right on average: waves, or the units of a random network."""
    if isinstance(covariance, SquaredExponential):
        frequencies = random.standard_normal((dimension, M // 2)) / covariance.length
        scale = covariance.amplitude / np.sqrt(M // 2)

        def waves(X: Array) -> Array:
            phases = X @ frequencies
            return scale * np.hstack([np.cos(phases), np.sin(phases)])

        return waves
    if isinstance(covariance, NeuralNetwork):
        weights = covariance.sigma_w * random.standard_normal((dimension, M - 1))

        def units(X: Array) -> Array:
            from scipy.special import erf

            hidden = covariance.omega / np.sqrt(M - 1) * erf(X @ weights)
            return np.column_stack([hidden, np.full(len(X), covariance.sigma_b)])

        return units
    raise TypeError(f"no random features for {type(covariance).__name__}")


def nystrom_features(covariance: Covariance, landmarks: Array) -> Features:
    """Features that are exact between landmarks: phi(x) = L^-1 k(Z, x) with L L' = k(Z, Z)."""
    from scipy.linalg import solve_triangular

    L = cholesky(covariance(landmarks, landmarks))
    return lambda X: solve_triangular(L, covariance(landmarks, X), lower=True).T
