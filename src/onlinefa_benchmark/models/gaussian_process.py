"""Gaussian process regression by Cholesky decomposition, and the choice of its parameters.

Section 2.3.1 of the thesis. With K = k(X, X) + noise I = L L' and a = K^-1 y, the posterior of the
function at x* has mean k*'a and variance k(x*, x*) - |L^-1 k*|^2, and the log marginal likelihood
of y is -y'a / 2 - sum(log L_ii) - N log(2 pi) / 2.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.models.covariance import Covariance

log = logging.getLogger(__name__)

# Jitter that is added to the diagonal of a matrix that is not positive definite in floating point,
# as fractions of the diagonal's mean: from the smallest that can have an effect to the largest that
# does not change conclusions.
_JITTERS = (1e-12, 1e-10, 1e-8, 1e-6)


class NotPositiveDefinite(ArithmeticError):
    """Exception for a kernel matrix that is not positive definite, even with the largest jitter."""


@dataclass(frozen=True, eq=False)
class GaussianProcess:
    """The posterior of a Gaussian process, given targets with noise.

    Parameters
    ----------
    X : array of shape (N, p)
        Training inputs.
    y : array of shape (N,)
        Training targets.
    covariance : Covariance
        Prior covariance of the function.
    noise : float
        Variance of the noise.

    Raises
    ------
    ValueError
        If there are fewer than two training points, or values that are not finite.
    """

    X: Array
    y: Array
    covariance: Covariance
    noise: float

    def __post_init__(self) -> None:
        if len(self.y) < 2:
            raise ValueError(f"a Gaussian process needs two training points, got {len(self.y)}")
        if not (np.isfinite(self.X).all() and np.isfinite(self.y).all()):
            raise ValueError("training points have NaN or infinite values")

    @cached_property
    def _cholesky(self) -> Array:
        K = self.covariance(self.X, self.X)
        K[np.diag_indices_from(K)] += self.noise
        return cholesky(K)

    @cached_property
    def _weights(self) -> Array:
        """The vector a = K^-1 y."""
        from scipy.linalg import cho_solve

        return cho_solve((self._cholesky, True), self.y)

    def predict(self, inputs: Array) -> tuple[Array, Array]:
        """Return mean and variance of the function, without noise, at each row of inputs."""
        from scipy.linalg import solve_triangular

        across = self.covariance(self.X, inputs)
        half = solve_triangular(self._cholesky, across, lower=True)
        # Rounding may make a variance of zero slightly negative.
        variance = np.maximum(self.covariance.diagonal(inputs) - np.sum(half**2, axis=0), 0)
        return across.T @ self._weights, variance

    @cached_property
    def log_marginal_likelihood(self) -> float:
        """The log marginal likelihood of the targets."""
        fit = self.y @ self._weights / 2
        return float(
            -fit - np.log(np.diag(self._cholesky)).sum() - len(self.y) / 2 * np.log(2 * np.pi)
        )

    def gradient(self) -> Array:
        """Return the gradient of the log marginal likelihood in the logarithms of all parameters.

        The parameters are those of the covariance, and the standard deviation of the noise. Each
        entry of the gradient is tr((a a' - K^-1) dK) / 2.
        """
        from scipy.linalg.lapack import dpotri

        inverse, _ = dpotri(self._cholesky, lower=True)  # its lower triangle
        outer = np.outer(self._weights, self._weights)
        rest = outer - np.tril(inverse) - np.tril(inverse, -1).T
        by_covariance = [np.vdot(rest, dK) / 2 for dK in self.covariance.gradients(self.X)]
        return np.array([*by_covariance, np.trace(rest) * self.noise])


def cholesky(K: Array) -> Array:
    """Return the lower Cholesky factor of a matrix, with jitter if that is necessary.

    A warning is logged if jitter was added.

    Parameters
    ----------
    K : array of shape (N, N)
        A matrix that is positive definite in exact arithmetic.

    Returns
    -------
    array of shape (N, N)
        The lower triangular factor.

    Raises
    ------
    NotPositiveDefinite
        If the matrix has no decomposition with the largest jitter, or values that are not finite.
    """
    from scipy.linalg import LinAlgError
    from scipy.linalg import cholesky as decompose

    if not np.isfinite(K).all():
        raise NotPositiveDefinite(f"a kernel matrix of {len(K)} points has NaN or infinite values")
    for share in (0.0, *_JITTERS):
        jitter = share * float(np.mean(np.diag(K)))
        try:
            L = decompose(K + jitter * np.eye(len(K)) if share else K, lower=True)
        except LinAlgError:
            continue
        if share:
            log.warning("a kernel matrix needs a jitter of %.0e of its diagonal", share)
        return L
    raise NotPositiveDefinite(
        f"a kernel matrix of {len(K)} points is not positive definite, even with a jitter of "
        f"{_JITTERS[-1]:.0e} of its diagonal"
    )


@dataclass(frozen=True)
class Bounds:
    """Bounds of the parameters of a Gaussian process.

    Parameters
    ----------
    lower, upper : float
        Bounds of the covariance's parameters: standard deviations and length scales.
    least_noise, most_noise : float
        Bounds of the standard deviation of the noise.
    """

    lower: float = 0.1
    upper: float = 10.0
    least_noise: float = 0.01
    most_noise: float = 1.0


def fit_most_likely(
    X: Array,
    y: Array,
    covariance: type[Covariance],
    random: np.random.Generator,
    restarts: int = 4,
    bounds: Bounds | None = None,
) -> GaussianProcess:
    """Fit the parameters of a Gaussian process by maximum marginal likelihood.

    L-BFGS is started from several random points, and the best result is returned.

    Parameters
    ----------
    X : array of shape (N, p)
        Training inputs.
    y : array of shape (N,)
        Training targets.
    covariance : type
        Class of the covariance function.
    random : numpy.random.Generator
        Source of the starts.
    restarts : int
        Number of starts.
    bounds : Bounds, optional
        Bounds of the parameters.

    Returns
    -------
    GaussianProcess
        The process with the largest log marginal likelihood.

    Raises
    ------
    NotPositiveDefinite
        If the optimisation fails from every start.
    """
    bounds = bounds or Bounds()
    number = len(fields(covariance)) + 1
    limits = np.log(
        [(bounds.lower, bounds.upper)] * (number - 1) + [(bounds.least_noise, bounds.most_noise)]
    )
    found, failure = [], None
    for start in random.uniform(limits[:, 0], limits[:, 1], size=(restarts, number)):
        try:
            found.append(_search(X, y, covariance, start, limits))
        except NotPositiveDefinite as error:  # other starts may avoid such parameters
            failure = error
    if not found:
        raise failure or ValueError("no restarts")
    best = max(found, key=lambda process: process.log_marginal_likelihood)
    at = np.array([*best.covariance.logarithms(), np.log(best.noise) / 2])
    at_bounds = int(np.isclose(at[:, None], limits).any(axis=1).sum())
    sd = np.sqrt(best.noise)
    log.info("%s, noise of sd %.3g; %d of these at their bounds", best.covariance, sd, at_bounds)
    return best


def _search(
    X: Array, y: Array, covariance: type[Covariance], start: Array, limits: Array
) -> GaussianProcess:
    from scipy.optimize import minimize

    def process(logarithms: Array) -> GaussianProcess:
        noise = float(np.exp(2 * logarithms[-1]))
        return GaussianProcess(X, y, covariance.of_logarithms(logarithms[:-1]), noise)

    def loss(logarithms: Array) -> tuple[float, Array]:
        at = process(logarithms)
        return -at.log_marginal_likelihood, -at.gradient()

    return process(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=limits).x)
