"""Laplace's approximation of the last layer's weights, at the most likely network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onlinefa.gaussian import Array
from onlinefa.models.gaussian_process import cholesky
from onlinefa.posteriors.base import (
    Functions,
    GaussianFunctions,
    Posterior,
    SampledFunctions,
    Task,
)

if TYPE_CHECKING:
    from onlinefa.models.network import NetworkPosterior


class Laplace(Posterior):
    """With their full covariance; the weights below are as certain as their mode.

    The Hessian is taken in its Gauss-Newton form, I + A'A, and predictions are those of the network
    linearised at its mode, f + j'(theta - mode). That is a linear regression on the derivatives j,
    and nothing is left out: with fewer rows than weights, (I + A'A)^-1 = I - A'(I + AA')^-1 A.
    """

    def functions(self, task: Task) -> Functions:
        network = task.network
        first = self._first_weight(network)
        A = network.curvature_rows(task.mode, network.X, first)
        J = network.jacobian(task.mode, task.inputs, first)
        mean = network.functions(task.mode[None], task.inputs)[0]
        if network.likelihood.outputs == 1:
            return GaussianFunctions(mean, np.sqrt(self._variances(A, J)))
        # Of classes there is no closed form: functions are drawn.
        z = task.random("sampling").standard_normal((task.samples, A.shape[1]))
        moves = np.einsum("ncd,sd->snc", J, self._draws(A, z), optimize=True)
        return SampledFunctions(mean + moves)

    def _first_weight(self, network: NetworkPosterior) -> int:
        """From which on weights are uncertain."""
        return network.last_layer

    @staticmethod
    def _variances(A: Array, J: Array) -> Array:
        """Those of Jz for z ~ N(0, (I + A'A)^-1), by the smaller of two matrices."""
        from scipy.linalg import solve_triangular

        if len(A) < A.shape[1]:
            root = cholesky(np.eye(len(A)) + A @ A.T)
            explained = np.sum(solve_triangular(root, A @ J.T, lower=True) ** 2, axis=0)
            return np.clip(np.sum(J**2, axis=1) - explained, 0, None)
        root = cholesky(np.eye(A.shape[1]) + A.T @ A)
        return np.sum(solve_triangular(root, J.T, lower=True) ** 2, axis=0)

    @staticmethod
    def _draws(A: Array, z: Array) -> Array:
        """From N(0, (I + A'A)^-1), for rows z from N(0, I)."""
        from scipy.linalg import solve_triangular

        root = cholesky(np.eye(A.shape[1]) + A.T @ A)
        return solve_triangular(root, z.T, lower=True, trans="T").T
