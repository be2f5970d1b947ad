"""Maximum likelihood estimate of factor analysis from streamed sufficient statistics."""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from sklearn.exceptions import ConvergenceWarning

from onlinefa.estimators._constraints import POSITIVE, Constraints, allow_integers
from onlinefa.estimators._moments import RunningMoments
from onlinefa.estimators.base import FactorEstimator
from onlinefa.gaussian import Array, LowRankGaussian

# The likelihood may be largest with no noise at all in some column (a Heywood case). The noise
# stays above this share of the variance of the column, so that the estimate always has a density.
_SMALLEST_NOISE_SHARE = 1e-6
_LANCZOS_FROM = 200


class BatchML(FactorEstimator):
    """Maximum likelihood estimate, which the online estimators approximate.

    Given the noise, the best factors have a closed form: they follow from the leading eigenvectors
    of the covariance in units of the noise (Joreskog, 1967). The profile likelihood is a smooth
    function of the D logarithms of the noise, which L-BFGS maximises. Memory is O(D^2) whatever the
    number of rows.

    Parameters
    ----------
    n_components : int, default=1
        Number of factors K, smaller than the number of columns.
    tolerance : float, default=1e-6
        The optimisation stops when no derivative of the log-likelihood per row with respect to the
        logarithm of a noise variance is larger than this.
    max_iterations : int, default=1000
        Largest number of iterations. A `ConvergenceWarning` reports when it is reached.

    Examples
    --------
    >>> import numpy as np
    >>> from onlinefa import BatchML
    >>> rows = np.random.default_rng(0).normal(size=(200, 4)) + [1, 2, 3, 4]
    >>> bool(np.allclose(BatchML(n_components=1).fit(rows).mean_, rows.mean(axis=0)))
    True
    """

    online = False

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": allow_integers(1),
        "tolerance": POSITIVE,
        "max_iterations": allow_integers(1),
    }

    def __init__(
        self, n_components: int = 1, *, tolerance: float = 1e-6, max_iterations: int = 1000
    ) -> None:
        self.n_components = n_components
        self.tolerance = tolerance
        self.max_iterations = max_iterations

    def _start(self, D: int) -> _State:
        return _State(D, self.n_components, self.tolerance, self.max_iterations)


class _State(RunningMoments):
    def __init__(self, D: int, K: int, tolerance: float, max_iterations: int) -> None:
        super().__init__(D, full=True)
        self.K = K
        self.tolerance = tolerance
        self.max_iterations = max_iterations

    def estimate(self) -> LowRankGaussian:
        factors, noise = maximum_likelihood(
            self.second, self.K, self.tolerance, self.max_iterations
        )
        return LowRankGaussian(self.mean, factors, noise)


def maximum_likelihood(
    S: Array, K: int, tolerance: float, max_iterations: int
) -> tuple[Array, Array]:
    """Compute the factors and the noise that maximise the likelihood of a sample covariance.

    Parameters
    ----------
    S : ndarray of shape (D, D)
        Sample covariance.
    K : int
        Number of factors.
    tolerance : float
        Largest derivative at which the optimisation stops.
    max_iterations : int
        Largest number of iterations.

    Returns
    -------
    factors : ndarray of shape (D, K)
        Factors; those of columns that do not vary are zero.
    noise : ndarray of shape (D,)
        Variances of the noise.
    """
    scale = np.sqrt(np.diag(S))
    varies = scale > 0
    factors, noise = np.zeros((len(S), K)), np.zeros(len(S))
    if not varies.any():
        return factors, noise
    # In units of the standard deviations, the problem does not depend on the scale of the data.
    scale = scale[varies]
    correlation = S[np.ix_(varies, varies)] / np.outer(scale, scale)
    D = len(scale)
    result = minimize(
        lambda log_noise: _profile(correlation, K, log_noise)[:2],
        np.full(D, np.log(0.5)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(np.log(_SMALLEST_NOISE_SHARE), 0.0)] * D,
        options={
            "maxiter": max_iterations,
            "maxfun": 2 * max_iterations,
            "ftol": 0.0,
            "gtol": tolerance,
            "maxcor": 30,
        },
    )
    if result.status == 1:  # a limit was reached; 2 means that rounding allows no further progress
        warnings.warn(f"maximum likelihood: {result.message}", ConvergenceWarning, stacklevel=2)
    best = _profile(correlation, K, result.x)[2] * scale[:, None]
    factors[varies, : best.shape[1]] = best  # K columns, or fewer if fewer columns vary
    noise[varies] = np.exp(result.x) * scale**2
    return factors, noise


def _profile(S: Array, K: int, log_noise: Array) -> tuple[float, Array, Array]:
    """Compute minus the log-likelihood per row at the best factors, its gradient and the factors.

    With eigenvalues e_1 > e_2 > ... and eigenvectors U of S in units of the noise, the best
    factors are psi^1/2 U_K (e_K - 1)^1/2, and there, up to a constant,
    -2 log L = sum log psi + tr(S / psi) + sum over e_k > 1, k <= K of (log e_k + 1 - e_k),
    with derivative (psi + diag(F F') - diag(S)) / psi with respect to log psi.
    """
    K = min(K, len(S))
    root = np.exp(0.5 * log_noise)
    scaled = S / np.outer(root, root)
    eigenvalues, U = _leading_eigenvectors(scaled, K)
    excess = np.clip(eigenvalues - 1, 0, None)
    factors = root[:, None] * U * np.sqrt(excess)
    objective = log_noise.sum() + np.trace(scaled) + np.sum(np.log1p(excess) - excess)
    gradient = 1 + (np.sum(factors**2, axis=1) - np.diag(S)) / root**2
    return float(objective) / 2, gradient / 2, factors


def _leading_eigenvectors(matrix: Array, K: int) -> tuple[Array, Array]:
    """Compute the K largest eigenvalues and their vectors, by Lanczos iterations if D is large."""
    D = len(matrix)
    if D > _LANCZOS_FROM and 4 * K < D:
        try:  # with a fixed first vector, so that the same data give the same bits
            return eigsh(matrix, K, v0=np.ones(D), ncv=max(4 * K, 20), tol=1e-10)
        except ArpackNoConvergence:
            pass
    return eigh(matrix, subset_by_index=[D - K, D - 1], check_finite=False)
