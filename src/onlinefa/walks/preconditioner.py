"""Preconditioners that are low rank plus diagonal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onlinefa.gaussian import Array, LowRankGaussian

__all__ = ["Preconditioner"]


@dataclass(frozen=True, eq=False)
class Preconditioner:
    """The matrix P = r (I + V diag(excess) V') r = LL', with r = diag(scale).

    Products with P, with L = r (I + V diag(sqrt(1 + excess) - 1) V') and with its transpose take
    O(D K).

    Parameters
    ----------
    scale : ndarray of shape (D,)
        Diagonal part r.
    directions : ndarray of shape (D, K)
        Orthonormal columns V.
    excess : ndarray of shape (K,)
        Eigenvalues along the directions, minus one; each is above -1.
    """

    scale: Array
    directions: Array
    excess: Array

    @classmethod
    def diagonal(cls, variances: Array) -> Preconditioner:
        """Return the matrix diag(variances)."""
        return cls(np.sqrt(variances), np.zeros((len(variances), 0)), np.zeros(0))

    @classmethod
    def of_covariance(cls, gaussian: LowRankGaussian) -> Preconditioner:
        """Return the covariance FF' + diag(psi) of a Gaussian, whose noise is positive."""
        root = np.sqrt(gaussian.noise)
        V, lengths, _ = np.linalg.svd(gaussian.factors / root[:, None], full_matrices=False)
        return cls(root, V, lengths**2)

    @classmethod
    def two_sided(cls, weights: LowRankGaussian, gradients: LowRankGaussian) -> Preconditioner:
        """Combine the covariance of weights with the inverse covariance of their gradients.

        Both approximate the posterior covariance: for a Gaussian posterior and full batches they
        are equal. The diagonal is the geometric mean of both. In the span of both sets of factors,
        P is the matrix geometric mean, which maps the covariance of the gradients to that of the
        weights. The sampler nutpie uses the same idea.

        Parameters
        ----------
        weights, gradients : LowRankGaussian
            Factor analyses of the weights that a walk visits, and of the gradients there.
        """
        scale = (weights.variances / gradients.variances) ** 0.25
        F, G = weights.factors / scale[:, None], gradients.factors * scale[:, None]
        Q, _ = np.linalg.qr(np.hstack([F, G]))
        of_weights = _project(Q, F, weights.noise / scale**2)
        of_gradients = _project(Q, G, gradients.noise * scale**2)
        eigenvalues, E = np.linalg.eigh(_geometric_mean(of_weights, of_gradients))
        return cls(scale, Q @ E, eigenvalues - 1)

    @property
    def dimension(self) -> int:
        """D, the number of weights."""
        return len(self.scale)

    def apply(self, vectors: Array) -> Array:
        """Multiply P with vectors of shape (..., D)."""
        scaled = vectors * self.scale
        return self.scale * (scaled + self._along(scaled, self.excess))

    def apply_root(self, vectors: Array) -> Array:
        """Multiply L with vectors of shape (..., D)."""
        return self.scale * (vectors + self._along(vectors, np.sqrt(1 + self.excess) - 1))

    def apply_root_transposed(self, vectors: Array) -> Array:
        """Multiply L' with vectors of shape (..., D)."""
        scaled = vectors * self.scale
        return scaled + self._along(scaled, np.sqrt(1 + self.excess) - 1)

    def _along(self, vectors: Array, weights: Array) -> Array:
        return ((vectors @ self.directions) * weights) @ self.directions.T

    def whitened(self, gaussian: LowRankGaussian) -> tuple[Array, Array]:
        """Return L'F and the matrix V'L' diag(noise) LV of a Gaussian of gradients.

        Together they give the covariance V'L'(FF' + diag(noise))LV of whitened gradients along the
        directions.
        """
        F = self.apply_root_transposed(gaussian.factors.T).T
        LV = self.apply_root(self.directions.T).T
        return F, LV.T @ (gaussian.noise[:, None] * LV)


def _project(Q: Array, factors: Array, noise: Array) -> Array:
    """Return Q'(FF' + diag(noise))Q."""
    inside = Q.T @ factors
    return inside @ inside.T + (Q.T * noise) @ Q


def _geometric_mean(A: Array, B: Array) -> Array:
    """Return the symmetric matrix S with S B S = A, for positive definite A and B."""
    root, inverse_root = _power(B, 0.5), _power(B, -0.5)
    return inverse_root @ _power(root @ A @ root, 0.5) @ inverse_root


def _power(A: Array, exponent: float) -> Array:
    """Return a power of a symmetric positive definite matrix."""
    eigenvalues, E = np.linalg.eigh(A)
    # Rounding may make the smallest eigenvalue of a nearly singular matrix negative.
    least = np.finfo(np.float64).eps * eigenvalues[-1]
    return (E * np.maximum(eigenvalues, least) ** exponent) @ E.T
