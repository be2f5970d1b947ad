"""Gaussian distributions whose covariance is low rank plus diagonal.

`LowRankGaussian` is the common data type of the package: every estimator returns one, and distances
compare two of them. No method forms a D x D matrix, except `covariance` and
`precision`, which return one, and the 2-Wasserstein distance where D is small. Arrays are those of
NumPy, or tensors of PyTorch on any device.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import subspace_angles

from onlinefa._arrays import array_namespace, draw_normals, is_finite, is_torch_array, to_numpy
from onlinefa._wasserstein import covariance_wasserstein

__all__ = ["Array", "LowRankGaussian", "NoDensity", "NotFinite"]

Array = NDArray[np.float64]


class NotFinite(ValueError):
    """Exception for a parameter of a distribution that is NaN or infinite."""


class NoDensity(ValueError):
    """Exception for a distribution that has no density because a column has no noise."""


@dataclass(frozen=True, eq=False)
class LowRankGaussian:
    """Gaussian distribution N(mean, factors @ factors.T + diag(noise)).

    The arrays are copied, converted to float64 and made read-only. Tensors of PyTorch are copied,
    and keep their device; their data type becomes that of the factors.

    Parameters
    ----------
    mean : ndarray of shape (D,)
        Mean of the distribution.
    factors : ndarray of shape (D, K)
        Factors of the covariance. K = 0 gives a diagonal Gaussian.
    noise : ndarray of shape (D,)
        Diagonal part of the covariance; no entry is negative.

    Raises
    ------
    NotFinite
        If an entry is NaN or infinite.
    ValueError
        If the shapes do not agree, or if an entry of `noise` is negative.

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
        """Copy and check the arrays."""
        for name in ("mean", "factors", "noise"):
            value = copy_like(getattr(self, name), self.factors)
            object.__setattr__(self, name, value)
            if not is_finite(value):
                raise NotFinite(f"{name} has NaN or infinite entries")
        D = self.mean.shape[0] if self.mean.ndim else 1
        if self.mean.ndim != 1 or self.factors.ndim != 2:
            raise ValueError("mean must have one dimension and factors two")
        if self.factors.shape[0] != D or self.noise.shape != (D,):
            raise ValueError(
                f"shapes do not agree: mean {tuple(self.mean.shape)}, "
                f"factors {tuple(self.factors.shape)}, noise {tuple(self.noise.shape)}"
            )
        if (self.noise < 0).any():
            raise ValueError("noise has negative entries")

    @classmethod
    def of_covariance(cls, mean: Array, covariance: Array) -> LowRankGaussian:
        """Represent N(mean, covariance) with as many factors as dimensions.

        Half of the smallest eigenvalue becomes the noise, so that a positive definite covariance
        gives a distribution with a density.

        Parameters
        ----------
        mean : ndarray of shape (D,)
            Mean of the distribution.
        covariance : ndarray of shape (D, D)
            Symmetric positive semidefinite covariance.

        Returns
        -------
        gaussian : LowRankGaussian
            The distribution with K = D factors.
        """
        eigenvalues, V = np.linalg.eigh(covariance)
        noise = max(float(eigenvalues[0]) / 2, 0.0)
        factors = V * np.sqrt(np.clip(eigenvalues - noise, 0, None))
        return cls(mean, factors, np.full(len(eigenvalues), noise))

    @property
    def _xp(self) -> Any:
        """Namespace of the arrays."""
        return array_namespace(self.mean)

    def to_numpy(self) -> LowRankGaussian:
        """Convert tensors to arrays of NumPy.

        Returns
        -------
        gaussian : LowRankGaussian
            The same distribution, or this one if its arrays are those of NumPy.
        """
        if not is_torch_array(self.mean):
            return self
        return LowRankGaussian(*(to_numpy(v) for v in (self.mean, self.factors, self.noise)))

    @property
    def dimension(self) -> int:
        """D, the number of variables."""
        return self.mean.shape[0]

    @property
    def rank(self) -> int:
        """K, the number of factors."""
        return self.factors.shape[1]

    @property
    def variances(self) -> Array:
        """Diagonal of the covariance."""
        return self._xp.sum(self.factors**2, axis=1) + self.noise

    def covariance(self) -> Array:
        """Compute the dense covariance.

        Returns
        -------
        covariance : ndarray of shape (D, D)
            The matrix ``factors @ factors.T + diag(noise)``.
        """
        covariance = self.factors @ self.factors.T
        diagonal = self._xp.arange(self.dimension)
        covariance[diagonal, diagonal] += self.noise
        return covariance

    def precision(self) -> Array:
        """Compute the dense inverse of the covariance, in O(D^2 K).

        Returns
        -------
        precision : ndarray of shape (D, D)
            The inverse of the covariance.

        Raises
        ------
        NoDensity
            If the noise of some column is zero.
        """
        U, s, _ = self._whitened
        root = self._xp.sqrt(self.noise)
        # (I + U s^2 U')^-1 = I - U s^2 / (1 + s^2) U'
        inner = -(U * (s**2 / (1 + s**2))) @ U.T
        diagonal = self._xp.arange(self.dimension)
        inner[diagonal, diagonal] += 1
        return inner / root / root[:, None]

    def sample(self, n: int = 1, random_state: int | np.random.Generator | None = None) -> Array:
        """Draw rows.

        A row uses K + D consecutive normal numbers of the generator. Drawing a + b rows is
        therefore, up to rounding, the same as drawing a rows and then b rows from one generator.

        Parameters
        ----------
        n : int, default=1
            Number of rows.
        random_state : int, numpy.random.Generator or None, default=None
            Seed, or the generator to draw from; for tensors, also a torch.Generator.

        Returns
        -------
        rows : ndarray of shape (n, D)
            The rows.
        """
        normals = draw_normals(self.mean, (n, self.rank + self.dimension), random_state)
        latent, noise = normals[:, : self.rank], normals[:, self.rank :]
        noise *= self._xp.sqrt(self.noise)
        noise += self.mean
        noise += latent @ self.factors.T
        return noise

    # -- densities -----------------------------------------------------------------------------

    @cached_property
    def _whitened(self) -> tuple[Array, Array, Array]:
        """Singular value decomposition U, s, V' of W = factors / sqrt(noise).

        The covariance is P^1/2 (I + U s^2 U') P^1/2 with P = diag(noise): its inverse, root and
        determinant follow from U and s without the cancellation of the Woodbury formula.
        """
        if (self.noise <= 0).any():
            column = int(self._xp.argmin(self.noise))
            raise NoDensity(f"noise is zero in column {column}: the distribution has no density")
        xp = self._xp
        U, s, Vt = xp.linalg.svd(self.factors / xp.sqrt(self.noise)[:, None], full_matrices=False)
        return U, s, Vt

    @property
    def log_determinant(self) -> float:
        """Logarithm of the determinant of the covariance."""
        _, s, _ = self._whitened
        xp = self._xp
        return float(xp.sum(xp.log(self.noise)) + xp.sum(xp.log1p(s**2)))

    def _mahalanobis(self, deviations: Array) -> Array:
        """Compute the squared length of each row of deviations under the inverse covariance."""
        xp = self._xp
        U, s, _ = self._whitened
        scaled = deviations / xp.sqrt(self.noise)
        inside = scaled @ U
        outside = scaled - inside @ U.T
        return xp.sum(outside**2, axis=1) + xp.sum(inside**2 / (1 + s**2), axis=1)

    def log_prob(self, X: Array) -> Array:
        """Compute the log density of each row.

        Parameters
        ----------
        X : ndarray of shape (n, D)
            Rows.

        Returns
        -------
        log_densities : ndarray of shape (n,)
            Log density of each row.

        Raises
        ------
        NoDensity
            If the noise of some column is zero.
        """
        X = self._check_rows(X)
        constant = self.dimension * np.log(2 * np.pi) + self.log_determinant
        return -0.5 * (constant + self._mahalanobis(X - self.mean))

    def latent_means(self, X: Array) -> Array:
        """Compute the posterior mean of the latent variables given each row.

        A row is modelled as ``mean + factors @ z + e`` with latent variables z ~ N(0, I) and noise
        e ~ N(0, diag(noise)); the result is E[z | row]. Columns that have no noise and, up to
        rounding, no factors carry no information about z and are ignored.

        Parameters
        ----------
        X : ndarray of shape (n, D)
            Rows.

        Returns
        -------
        means : ndarray of shape (n, K)
            Posterior mean of each row's latent variables.

        Raises
        ------
        NoDensity
            If some column has factors but no noise.
        """
        X = self._check_rows(X)
        xp = self._xp
        largest = xp.max(xp.abs(self.factors)) if self.rank else 0.0
        negligible = xp.finfo(self.factors.dtype).eps * self.dimension * largest
        constant = (self.noise == 0) & xp.all(xp.abs(self.factors) <= negligible, axis=1)
        if constant.any():
            used = ~constant
            rest = LowRankGaussian(self.mean[used], self.factors[used], self.noise[used])
            return rest.latent_means(X[:, used])
        # (I + W'W)^-1 W' = V s / (1 + s^2) U', in units of the noise.
        U, s, Vt = self._whitened
        scaled = (X - self.mean) / xp.sqrt(self.noise)
        return (scaled @ U * (s / (1 + s**2))) @ Vt

    def _check_rows(self, X: Array) -> Array:
        mean = self.mean
        X = self._xp.asarray(X, dtype=mean.dtype, device=mean.device)
        if X.ndim != 2 or X.shape[1] != self.dimension:
            raise ValueError(f"X has shape {tuple(X.shape)}, expected (n, {self.dimension})")
        return X

    # -- distances; self is the truth ----------------------------------------------------------

    def _pair_with(self, other: LowRankGaussian) -> tuple[LowRankGaussian, LowRankGaussian]:
        """Return both distributions with arrays of NumPy, after checking their dimensions."""
        if self.dimension != other.dimension:
            raise ValueError(f"dimensions differ: {self.dimension} and {other.dimension}")
        return self.to_numpy(), other.to_numpy()

    def relative_frobenius(self, estimate: LowRankGaussian, *, off_diagonal: bool = False) -> float:
        """Compute the relative Frobenius distance of the covariances, in O(D K^2).

        The distance is the norm of the difference over the norm of this covariance. The diagonal
        of the difference is computed directly. The rest is Q M Q' without its diagonal, where
        [F1 F2] = Q R and M = R diag(I, -I) R' is small when the two are similar. Little precision
        is therefore lost to rounding, unless a covariance is nearly diagonal and `off_diagonal` is
        True.

        Parameters
        ----------
        estimate : LowRankGaussian
            The distribution to compare with this one.
        off_diagonal : bool, default=False
            Whether both norms leave out the diagonal.

        Returns
        -------
        distance : float
            The relative distance; infinite if this norm is zero and the other is not.
        """
        truth, estimate = self._pair_with(estimate)
        Q, R = np.linalg.qr(np.hstack([truth.factors, estimate.factors]))
        signs = np.repeat([1.0, -1.0], [truth.rank, estimate.rank])
        M = (R * signs) @ R.T
        squares = np.sum(M**2) - np.sum(np.sum((Q @ M) * Q, axis=1) ** 2)
        norm = np.sum((truth.factors.T @ truth.factors) ** 2) - np.sum(
            np.sum(truth.factors**2, axis=1) ** 2
        )
        if not off_diagonal:
            squares = max(squares, 0.0) + np.sum((truth.variances - estimate.variances) ** 2)
            norm += np.sum(truth.variances**2)
        return _divide(np.sqrt(max(squares, 0.0)), np.sqrt(max(norm, 0.0)))

    def relative_mean_distance(self, estimate: LowRankGaussian) -> float:
        """Compute the Euclidean distance of the means over the length of this mean.

        Parameters
        ----------
        estimate : LowRankGaussian
            The distribution to compare with this one.

        Returns
        -------
        distance : float
            The relative distance; infinite if this mean is zero and the other is not.
        """
        truth, estimate = self._pair_with(estimate)
        return _divide(np.linalg.norm(truth.mean - estimate.mean), np.linalg.norm(truth.mean))

    def kl(self, estimate: LowRankGaussian) -> float:
        """Compute the Kullback-Leibler divergence KL(self || estimate), in O(D K^2).

        Parameters
        ----------
        estimate : LowRankGaussian
            The distribution to compare with this one.

        Returns
        -------
        divergence : float
            The divergence, in nats.

        Raises
        ------
        NoDensity
            If the noise of some column of either distribution is zero.
        """
        truth, estimate = self._pair_with(estimate)
        U, s, _ = estimate._whitened
        ratio = truth.noise / estimate.noise
        inside_share = np.sum(U**2, axis=1)
        trace = (
            np.sum(ratio * np.clip(1 - inside_share, 0, None))
            + np.sum((ratio @ U**2) / (1 + s**2))
            + np.sum(estimate._mahalanobis(truth.factors.T))
        )
        shift = estimate._mahalanobis((truth.mean - estimate.mean)[None, :])[0]
        log_ratio = estimate.log_determinant - truth.log_determinant
        return max(float(0.5 * (trace - truth.dimension + log_ratio + shift)), 0.0)

    def wasserstein2(self, estimate: LowRankGaussian) -> float:
        """Compute the 2-Wasserstein distance.

        Parameters
        ----------
        estimate : LowRankGaussian
            The distribution to compare with this one.

        Returns
        -------
        distance : float
            The distance, in the units of the data.
        """
        truth, estimate = self._pair_with(estimate)
        squared = covariance_wasserstein(truth, estimate)
        return float(np.sqrt(np.sum((truth.mean - estimate.mean) ** 2) + max(squared, 0.0)))

    def principal_angles(self, estimate: LowRankGaussian) -> Array:
        """Compute the angles between the spans of the two sets of factors.

        Parameters
        ----------
        estimate : LowRankGaussian
            The distribution to compare with this one.

        Returns
        -------
        angles : ndarray of shape (min(K1, K2),)
            Angles in radians, largest first.
        """
        truth, estimate = self._pair_with(estimate)
        if min(truth.rank, estimate.rank) == 0:
            return np.empty(0)
        return np.asarray(subspace_angles(truth.factors, estimate.factors))

    @cached_property
    def _root(self) -> Array:
        """A D x D matrix L with L L' = covariance, which exists for zero noise as well."""
        if (self.noise > 0).all():
            U, s, _ = self._whitened
            # (I + U s^2 U')^1/2 = I + U (sqrt(1 + s^2) - 1) U'
            inner = np.eye(self.dimension) + (U * (np.sqrt(1 + s**2) - 1)) @ U.T
            return np.sqrt(self.noise)[:, None] * inner
        wide = np.hstack([self.factors, np.diag(np.sqrt(self.noise))])
        return np.linalg.qr(wide.T).R.T


def copy_like(value: Any, factors: Any) -> Any:
    """Copy an array: as a tensor like the factors, or as a read-only array of float64."""
    if is_torch_array(factors):
        tensor = array_namespace(factors).asarray(value, device=factors.device).detach()
        return tensor.to(factors.dtype, copy=True)
    array = np.array(value, dtype=np.float64)
    array.setflags(write=False)
    return array


def _divide(distance: float | np.floating, norm: float | np.floating) -> float:
    """Divide a distance by a norm; zero by zero gives zero."""
    if norm == 0:
        return 0.0 if distance == 0 else float("inf")
    return float(distance / norm)
