"""Gaussian distributions whose precision, the inverse of the covariance, is low rank plus diagonal.

A factor analysis of gradients estimates the information in the data about the weights. The sum of
this information and the precision of a prior is the precision of a posterior.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from onlinefa._arrays import array_namespace, draw_normals, is_finite
from onlinefa.gaussian import Array, LowRankGaussian, NotFinite, copy_like

__all__ = ["PrecisionGaussian"]


@dataclass(frozen=True, eq=False)
class PrecisionGaussian:
    """Gaussian distribution N(mean, (factors @ factors.T + diag(diagonal))^-1).

    No method except `covariance` and `precision` forms a D x D matrix. The others use a
    decomposition that takes O(D K^2) once. The arrays are copied, as in `LowRankGaussian`, and may
    be tensors.

    Parameters
    ----------
    mean : ndarray of shape (D,)
        Mean of the distribution.
    factors : ndarray of shape (D, K)
        Factors of the precision. K = 0 gives a diagonal Gaussian.
    diagonal : ndarray of shape (D,)
        Diagonal part of the precision; every entry is positive.

    Raises
    ------
    NotFinite
        If an entry is NaN or infinite.
    ValueError
        If the shapes do not agree, or if an entry of `diagonal` is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from onlinefa import PrecisionGaussian
    >>> posterior = PrecisionGaussian(np.zeros(2), np.array([[3.0], [0.0]]), np.ones(2))
    >>> posterior.variances  # 1 / (9 + 1) and 1
    array([0.1, 1. ])
    """

    mean: Array
    factors: Array
    diagonal: Array

    def __post_init__(self) -> None:
        """Copy and check the arrays."""
        for name in ("mean", "factors", "diagonal"):
            value = copy_like(getattr(self, name), self.factors)
            object.__setattr__(self, name, value)
            if not is_finite(value):
                raise NotFinite(f"{name} has NaN or infinite entries")
        mean, factors, diagonal = (
            tuple(value.shape) for value in (self.mean, self.factors, self.diagonal)
        )
        if len(mean) != 1 or len(factors) != 2 or not mean == factors[:1] == diagonal:
            raise ValueError(
                f"shapes do not agree: mean {mean}, factors {factors}, diagonal {diagonal}"
            )
        if (self.diagonal <= 0).any():
            raise ValueError("diagonal must be positive")

    @classmethod
    def of_information(
        cls, mean: Array, information: LowRankGaussian, prior_precision: float | Array = 1.0
    ) -> PrecisionGaussian:
        """Combine a prior with the information of the data.

        Parameters
        ----------
        mean : ndarray of shape (D,)
            Mean of the posterior, such as its mode.
        information : LowRankGaussian
            Distribution of gradients at the mode whose covariance is the Fisher information of all
            data. Its mean is not used.
        prior_precision : float or ndarray of shape (D,), default=1.0
            Precision of independent priors of the weights.

        Returns
        -------
        posterior : PrecisionGaussian
            The posterior.
        """
        return cls(mean, information.factors, prior_precision + information.noise)

    @property
    def dimension(self) -> int:
        """D, the number of variables."""
        return self.mean.shape[0]

    @property
    def _xp(self) -> Any:
        """Namespace of the arrays."""
        return array_namespace(self.factors)

    @cached_property
    def _whitened(self) -> tuple[Array, Array]:
        """Left singular vectors U and singular values s of factors / sqrt(diagonal).

        The covariance is R (I - U s^2 / (1 + s^2) U') R with R = diag(diagonal)^-1/2.
        """
        scaled = self.factors / self._xp.sqrt(self.diagonal)[:, None]
        U, s, _ = self._xp.linalg.svd(scaled, full_matrices=False)
        return U, s

    @property
    def variances(self) -> Array:
        """Diagonal of the covariance."""
        U, s = self._whitened
        return (1 - U**2 @ (s**2 / (1 + s**2))) / self.diagonal

    def covariance(self) -> Array:
        """Compute the dense covariance, of shape (D, D)."""
        U, s = self._whitened
        root = self._xp.sqrt(self.diagonal)
        inner = -(U * (s**2 / (1 + s**2))) @ U.T
        diagonal = self._xp.arange(self.dimension)
        inner[diagonal, diagonal] += 1
        return inner / root / root[:, None]

    def precision(self) -> Array:
        """Compute the dense precision, of shape (D, D)."""
        precision = self.factors @ self.factors.T
        diagonal = self._xp.arange(self.dimension)
        precision[diagonal, diagonal] += self.diagonal
        return precision

    def sample(self, n: int = 1, random_state: int | np.random.Generator | None = None) -> Array:
        """Draw rows.

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
        U, s = self._whitened
        z = draw_normals(self.mean, (n, self.dimension), random_state)
        z += (z @ U * (1 / self._xp.sqrt(1 + s**2) - 1)) @ U.T
        return self.mean + z / self._xp.sqrt(self.diagonal)

    def log_prob(self, X: Array) -> Array:
        """Compute the log density of rows.

        Parameters
        ----------
        X : ndarray of shape (n, D)
            Rows.

        Returns
        -------
        log_densities : ndarray of shape (n,)
            The log density of each row.
        """
        xp, mean = self._xp, self.mean
        away = xp.asarray(X, dtype=mean.dtype, device=mean.device) - mean
        squares = away**2 @ self.diagonal + xp.sum((away @ self.factors) ** 2, axis=1)
        return (self.log_determinant - squares - self.dimension * np.log(2 * np.pi)) / 2

    @property
    def log_determinant(self) -> float:
        """Logarithm of the determinant of the precision."""
        xp = self._xp
        _, s = self._whitened
        return float(xp.sum(xp.log(self.diagonal)) + xp.sum(xp.log1p(s**2)))

    def variances_along(self, directions: Array) -> Array:
        """Compute the variances of linear functions of the variables.

        With the derivatives of a network's outputs as directions, these are the variances of the
        outputs of the network that is linearised at the mean.

        Parameters
        ----------
        directions : ndarray of shape (n, D)
            Coefficients of each linear function.

        Returns
        -------
        variances : ndarray of shape (n,)
            The variances.
        """
        U, s = self._whitened
        scaled = directions / self._xp.sqrt(self.diagonal)
        inside = scaled @ U
        # The part outside of the span of U is computed explicitly. A difference of squares would
        # lose the digits of a variance that is much smaller than that of the prior.
        outside = scaled - inside @ U.T
        return self._xp.sum(outside**2, axis=1) + inside**2 @ (1 / (1 + s**2))
