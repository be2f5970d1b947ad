"""The Gaussian of Laplace's approximation with its full covariance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.models.gaussian_process import cholesky


@dataclass(frozen=True, eq=False)
class DenseSpread:
    """The Gaussian N(0, (I + A'A)^-1) of deviations of weights from a mode.

    With fewer rows than weights, (I + A'A)^-1 = I - A'(I + AA')^-1 A.

    Parameters
    ----------
    A : array of shape (rows, weights)
        Root of the Gauss-Newton Hessian.
    """

    A: Array

    def variances_along(self, J: Array, /) -> Array:
        """Return the variances of Jz, by the smaller of two matrices."""
        from scipy.linalg import solve_triangular

        A = self.A
        if len(A) < A.shape[1]:
            root = cholesky(np.eye(len(A)) + A @ A.T)
            explained = np.sum(solve_triangular(root, A @ J.T, lower=True) ** 2, axis=0)
            return np.clip(np.sum(J**2, axis=1) - explained, 0, None)
        root = cholesky(np.eye(A.shape[1]) + A.T @ A)
        return np.sum(solve_triangular(root, J.T, lower=True) ** 2, axis=0)

    def sample(self, n: int, random_state: np.random.Generator, /) -> Array:
        """Draw rows."""
        from scipy.linalg import solve_triangular

        D = self.A.shape[1]
        root = cholesky(np.eye(D) + self.A.T @ self.A)
        z = random_state.standard_normal((n, D))
        return solve_triangular(root, z.T, lower=True, trans="T").T
