"""Gaussian processes on a finite number of features, for tables with many rows.

With features phi such that phi(x)'phi(x') approximates k(x, x'), the process is approximated by a
linear regression on phi(x) with the prior N(0, I), in time O(N M^2) for M features, instead of
O(N^3) for a Cholesky decomposition of the kernel matrix. The features are random (Rahimi and Recht,
2007; for a network the units of a random hidden layer) or come from landmarks (Williams and Seeger,
2001).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.models.covariance import Covariance, NeuralNetwork, SquaredExponential
from onlinefa_benchmark.models.gaussian_process import cholesky

# Maps inputs of shape (N, p) to features of shape (N, M).
Features = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class FeatureRegression:
    """A linear regression on features, with the prior N(0, I) of its weights.

    Parameters
    ----------
    X : array of shape (N, p)
        Training inputs.
    y : array of shape (N,)
        Training targets.
    features : callable
        Maps inputs of shape (N, p) to features of shape (N, M).
    noise : float
        Variance of the noise.
    """

    X: Array
    y: Array
    features: Features
    noise: float

    @cached_property
    def _cholesky(self) -> Array:
        """The Cholesky factor of I + Phi'Phi / noise, the precision of the weights."""
        Phi = self.features(self.X)
        return cholesky(np.eye(Phi.shape[1]) + Phi.T @ Phi / self.noise)

    def predict(self, inputs: Array) -> tuple[Array, Array]:
        """Return mean and variance of the function, without noise, at each row of inputs."""
        from scipy.linalg import cho_solve, solve_triangular

        mean = cho_solve((self._cholesky, True), self.features(self.X).T @ self.y / self.noise)
        Phi = self.features(inputs)
        return Phi @ mean, np.sum(solve_triangular(self._cholesky, Phi.T, lower=True) ** 2, axis=0)


def random_features(
    covariance: Covariance, dimension: int, M: int, random: np.random.Generator
) -> Features:
    """Draw features whose inner products have the covariance as their expectation.

    Parameters
    ----------
    covariance : Covariance
        For the squared exponential, features are waves (Rahimi and Recht, 2007); for that of a
        network, they are its units and a bias.
    dimension : int
        Number of inputs.
    M : int
        Number of features.
    random : numpy.random.Generator
        Source of random numbers.

    Returns
    -------
    callable
        Maps inputs of shape (N, p) to features of shape (N, M).

    Raises
    ------
    TypeError
        If no random features are known for the covariance.
    """
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
    """Return Nystrom features (Williams and Seeger, 2001), which are exact between landmarks.

    They are phi(x) = L^-1 k(Z, x) with landmarks Z and L L' = k(Z, Z).

    Parameters
    ----------
    covariance : Covariance
        Covariance function k.
    landmarks : array of shape (M, p)
        Landmarks Z.

    Returns
    -------
    callable
        Maps inputs of shape (N, p) to features of shape (N, M).
    """
    from scipy.linalg import solve_triangular

    L = cholesky(covariance(landmarks, landmarks))
    return lambda X: solve_triangular(L, covariance(landmarks, X), lower=True).T
