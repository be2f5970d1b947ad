"""The one value everything exchanges: a Gaussian whose covariance is low rank plus diagonal.

Every estimator produces one, every model of known truth offers one, every metric compares two.
Nothing here forms a D x D matrix, except `covariance`, for those who ask for it, and the dense
2-Wasserstein distance, where D is small enough to afford it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from onlinefa.wasserstein import covariance_wasserstein

Array = NDArray[np.float64]


class NotFinite(ValueError):
    """A parameter of a distribution is NaN or infinite."""


class NoDensity(ValueError):
    """A distribution without noise in some column has no density."""


@dataclass(frozen=True, eq=False)
class LowRankGaussian:
    """The distribution N(mean, factors @ factors.T + diag(noise)).

    Parameters
    ----------
    mean : array of shape (D,)
    factors : array of shape (D, K); K = 0 is a diagonal Gaussian
    noise : array of shape (D,), no entry negative

    Examples
    --------
    >>> import numpy as np
    >>> from onlinefa import LowRankGaussian
    >>> truth = LowRankGaussian(np.zeros(3), np.ones((3, 1)), np.ones(3))
    >>> estimate = LowRankGaussian(np.zeros(3), np.zeros((3, 0)), 2 * np.ones(3))
    >>> round(truth.relative_frobenius(estimate), 4)  # sqrt(6 / 18): six entries of 1 are missed
    0.5774
    """

    mean: Array
    factors: Array
    noise: Array

    def __post_init__(self) -> None:
        for name in ("mean", "factors", "noise"):
            value = np.array(getattr(self, name), dtype=np.float64)
            value.setflags(write=False)
            object.__setattr__(self, name, value)
            if not np.isfinite(value).all():
                raise NotFinite(f"{name} has NaN or infinite entries")
        D = self.mean.size
        if self.mean.ndim != 1 or self.factors.ndim != 2:
            raise ValueError("mean must have one dimension and factors two")
        if self.factors.shape[0] != D or self.noise.shape != (D,):
            raise ValueError(
                f"shapes do not agree: mean {self.mean.shape}, factors {self.factors.shape}, "
                f"noise {self.noise.shape}"
            )
        if (self.noise < 0).any():
            raise ValueError("noise has negative entries")

    @classmethod
    def of_covariance(cls, mean: Array, covariance: Array) -> LowRankGaussian:
        """The same distribution as N(mean, covariance), with as many factors as dimensions.

        Half of the smallest eigenvalue becomes the noise, so that a positive definite covariance
        gives a distribution with a density.
        """
        eigenvalues, V = np.linalg.eigh(covariance)
        noise = max(float(eigenvalues[0]) / 2, 0.0)
        factors = V * np.sqrt(np.clip(eigenvalues - noise, 0, None))
        return cls(mean, factors, np.full(len(eigenvalues), noise))

    @property
    def dimension(self) -> int:
        """D, the number of variables."""
        return self.mean.size

    @property
    def rank(self) -> int:
        """K, the number of factors."""
        return self.factors.shape[1]

    @property
    def variances(self) -> Array:
        """The diagonal of the covariance."""
        return np.sum(self.factors**2, axis=1) + self.noise

    def covariance(self) -> Array:
        """The dense D x D covariance."""
        return self.factors @ self.factors.T + np.diag(self.noise)

    def sample(self, n: int = 1, random_state: int | np.random.Generator | None = None) -> Array:
        """Draw n rows. A row takes K + D consecutive normals, so that a draw of a + b rows is, but
        for rounding, a draw of a rows followed by one of b rows from the same generator."""
        normals = np.random.default_rng(random_state).standard_normal(
            (n, self.rank + self.dimension)
        )
        latent, noise = normals[:, : self.rank], normals[:, self.rank :]
        noise *= np.sqrt(self.noise)
        noise += self.mean
        noise += latent @ self.factors.T
        return noise

    # -- densities -----------------------------------------------------------------------------

    @cached_property
    def _whitened(self) -> tuple[Array, Array]:
        """Left singular vectors U and singular values s of factors / sqrt(noise).

        With W = U s V', the covariance is P^1/2 (I + U s^2 U') P^1/2: its inverse, root and
        determinant follow from U and s without the cancellation of the Woodbury formula.
        """
        if (self.noise <= 0).any():
            column = int(np.argmin(self.noise))
            raise NoDensity(f"noise is zero in column {column}: the distribution has no density")
        U, s, _ = np.linalg.svd(self.factors / np.sqrt(self.noise)[:, None], full_matrices=False)
        return U, s

    @property
    def log_determinant(self) -> float:
        """log |covariance|."""
        _, s = self._whitened
        return float(np.sum(np.log(self.noise)) + np.sum(np.log1p(s**2)))

    def _mahalanobis(self, deviations: Array) -> Array:
        """Squared length of each row of deviations under the inverse covariance."""
        U, s = self._whitened
        scaled = deviations / np.sqrt(self.noise)
        inside = scaled @ U
        outside = scaled - inside @ U.T
        return np.sum(outside**2, axis=1) + np.sum(inside**2 / (1 + s**2), axis=1)

    def log_prob(self, X: Array) -> Array:
        """Log density of each row of X."""
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != self.dimension:
            raise ValueError(f"X has shape {X.shape}, expected (n, {self.dimension})")
        constant = self.dimension * np.log(2 * np.pi) + self.log_determinant
        return -0.5 * (constant + self._mahalanobis(X - self.mean))

    # -- distances; self is the truth ----------------------------------------------------------

    def _check_comparable(self, other: LowRankGaussian) -> None:
        if self.dimension != other.dimension:
            raise ValueError(f"dimensions differ: {self.dimension} and {other.dimension}")

    def relative_frobenius(self, estimate: LowRankGaussian, *, off_diagonal: bool = False) -> float:
        """Frobenius norm of the difference of covariances over the norm of this one, in O(D K^2).

        With `off_diagonal`, both norms leave out the diagonal. The diagonal of the difference is
        computed directly. What lies off it is Q M Q' less its diagonal, where [F1 F2] = Q R and
        M = R diag(I, -I) R' is small when the two are alike, so that little is lost to rounding
        unless a covariance is all but diagonal and only what lies off the diagonal is asked for.
        """
        self._check_comparable(estimate)
        Q, R = np.linalg.qr(np.hstack([self.factors, estimate.factors]))
        signs = np.repeat([1.0, -1.0], [self.rank, estimate.rank])
        M = (R * signs) @ R.T
        squares = np.sum(M**2) - np.sum(np.sum((Q @ M) * Q, axis=1) ** 2)
        norm = np.sum((self.factors.T @ self.factors) ** 2) - np.sum(
            np.sum(self.factors**2, axis=1) ** 2
        )
        if not off_diagonal:
            squares = max(squares, 0.0) + np.sum((self.variances - estimate.variances) ** 2)
            norm += np.sum(self.variances**2)
        return _ratio(np.sqrt(max(squares, 0.0)), np.sqrt(max(norm, 0.0)))

    def relative_mean_distance(self, estimate: LowRankGaussian) -> float:
        """Euclidean distance of the means over the length of this one's mean."""
        self._check_comparable(estimate)
        return _ratio(np.linalg.norm(self.mean - estimate.mean), np.linalg.norm(self.mean))

    def kl(self, estimate: LowRankGaussian) -> float:
        """Kullback-Leibler divergence KL(self || estimate), in O(D K^2)."""
        self._check_comparable(estimate)
        U, s = estimate._whitened
        ratio = self.noise / estimate.noise
        inside_share = np.sum(U**2, axis=1)
        trace = (
            np.sum(ratio * np.clip(1 - inside_share, 0, None))
            + np.sum((ratio @ U**2) / (1 + s**2))
            + np.sum(estimate._mahalanobis(self.factors.T))
        )
        shift = estimate._mahalanobis((self.mean - estimate.mean)[None, :])[0]
        log_ratio = estimate.log_determinant - self.log_determinant
        return max(float(0.5 * (trace - self.dimension + log_ratio + shift)), 0.0)

    def wasserstein2(self, estimate: LowRankGaussian) -> float:
        """2-Wasserstein distance."""
        self._check_comparable(estimate)
        squared = covariance_wasserstein(self, estimate)
        return float(np.sqrt(np.sum((self.mean - estimate.mean) ** 2) + max(squared, 0.0)))

    def principal_angles(self, estimate: LowRankGaussian) -> Array:
        """Angles in radians, largest first, between the two spans of factors."""
        from scipy.linalg import subspace_angles

        self._check_comparable(estimate)
        if min(self.rank, estimate.rank) == 0:
            return np.empty(0)
        return np.asarray(subspace_angles(self.factors, estimate.factors))

    @cached_property
    def _root(self) -> Array:
        """A D x D matrix L with L L' = covariance, which exists for zero noise as well."""
        if (self.noise > 0).all():
            U, s = self._whitened
            # (I + U s^2 U')^1/2 = I + U (sqrt(1 + s^2) - 1) U'
            inner = np.eye(self.dimension) + (U * (np.sqrt(1 + s**2) - 1)) @ U.T
            return np.sqrt(self.noise)[:, None] * inner
        wide = np.hstack([self.factors, np.diag(np.sqrt(self.noise))])
        return np.linalg.qr(wide.T).R.T


def _ratio(distance: float | np.floating, norm: float | np.floating) -> float:
    """distance / norm, where no distance from nothing is no distance."""
    if norm == 0:
        return 0.0 if distance == 0 else float("inf")
    return float(distance / norm)
