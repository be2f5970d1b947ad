"""The Laplace approximation of the weights of the last layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.models.gaussian_process import cholesky
from onlinefa_benchmark.posteriors.base import (
    Functions,
    GaussianFunctions,
    Posterior,
    SampledFunctions,
    Task,
)

if TYPE_CHECKING:
    from onlinefa_benchmark.models.network import NetworkPosterior


class Laplace(Posterior):
    """The Laplace approximation of the last layer's weights, with their full covariance.

    The weights of the hidden layer are fixed at the mode.

    The Hessian is taken in its Gauss-Newton form, I + A'A, and predictions are those of the network
    linearised at its mode, f + j'(theta - mode). That is a linear regression on the derivatives j,
    and no further approximation is made: with fewer rows than weights,
    (I + A'A)^-1 = I - A'(I + AA')^-1 A.
    """

    def functions(self, task: Task) -> Functions:
        """Return Gaussian functions, or, for classes, functions that are drawn."""
        network = task.network
        first = self._first_weight(network)
        A = network.curvature_rows(task.mode, network.X, first)
        J = network.jacobian(task.mode, task.inputs, first)
        mean = network.functions(task.mode[None], task.inputs)[0]
        if network.likelihood.outputs == 1:
            return GaussianFunctions(mean, np.sqrt(self._variances(A, J)))
        # Probabilities of classes have no closed form, so that functions are drawn.
        z = task.random("sampling").standard_normal((task.samples, A.shape[1]))
        moves = np.einsum("ncd,sd->snc", J, self._draws(A, z), optimize=True)
        return SampledFunctions(mean + moves)

    def _first_weight(self, network: NetworkPosterior) -> int:
        """Return the index of the first weight that is not fixed."""
        return network.last_layer

    @staticmethod
    def _variances(A: Array, J: Array) -> Array:
        """Return the variances of Jz for z ~ N(0, (I + A'A)^-1), by the smaller of two matrices."""
        from scipy.linalg import solve_triangular

        if len(A) < A.shape[1]:
            root = cholesky(np.eye(len(A)) + A @ A.T)
            explained = np.sum(solve_triangular(root, A @ J.T, lower=True) ** 2, axis=0)
            return np.clip(np.sum(J**2, axis=1) - explained, 0, None)
        root = cholesky(np.eye(A.shape[1]) + A.T @ A)
        return np.sum(solve_triangular(root, J.T, lower=True) ** 2, axis=0)

    @staticmethod
    def _draws(A: Array, z: Array) -> Array:
        """Transform rows z ~ N(0, I) to rows ~ N(0, (I + A'A)^-1)."""
        from scipy.linalg import solve_triangular

        root = cholesky(np.eye(A.shape[1]) + A.T @ A)
        return solve_triangular(root, z.T, lower=True, trans="T").T
