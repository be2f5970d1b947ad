"""Laplace's approximation of the last layer's weights, at the most likely network."""

from __future__ import annotations

import numpy as np

from onlinefa.models.covariance import Linear
from onlinefa.models.gaussian_process import GaussianProcess
from onlinefa.models.network import NetworkPosterior
from onlinefa.posteriors.base import Functions, GaussianFunctions, Posterior, Task


class Laplace(Posterior):
    """With their full covariance; the weights below are as certain as their mode.

    The Hessian is taken in its Gauss-Newton form, I + J'J / noise, and predictions are those of
    the network linearised at its mode, f + j'(theta - mode). That is a linear regression on the
    derivatives j. Seen as a Gaussian process it needs a matrix of N x N only, whatever the number
    of weights, and leaves nothing out: the rank of J'J is at most N.
    """

    def functions(self, task: Task) -> Functions:
        network = task.network
        first = self._first_weight(network)
        J, J_asked = (
            network.jacobian(task.mode, inputs)[:, first:] for inputs in (network.X, task.inputs)
        )
        _, variance = GaussianProcess(J, network.y, Linear(), network.noise).predict(J_asked)
        mean = network.functions(task.mode[None], task.inputs)[0]
        return GaussianFunctions(mean, np.sqrt(variance))

    def _first_weight(self, network: NetworkPosterior) -> int:
        """From which on weights are uncertain."""
        return network.last_layer
