"""Laplace's approximation at the most likely network."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from onlinefa.models.covariance import Linear
from onlinefa.models.gaussian_process import GaussianProcess
from onlinefa.posteriors.base import Functions, GaussianFunctions, Posterior, Task


class Laplace(Posterior):
    """Of the last layer's weights, or of all, with their full covariance.

    The Hessian is taken in its Gauss-Newton form, I + J'J / noise, and predictions are those of
    the network linearised at its mode, f + j'(theta - mode). That is a linear regression on the
    derivatives j. Seen as a Gaussian process it needs a matrix of N x N only, whatever the number
    of weights, and leaves nothing out: the rank of J'J is at most N.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "weights": [StrOptions({"last_layer", "all"})]
    }

    def __init__(self, *, weights: str = "last_layer") -> None:
        self.weights = weights

    def functions(self, task: Task) -> Functions:
        network = task.network
        first = network.last_layer if self.weights == "last_layer" else 0
        J, J_asked = (
            network.jacobian(task.mode, inputs)[:, first:] for inputs in (network.X, task.inputs)
        )
        _, variance = GaussianProcess(J, network.y, Linear(), network.noise).predict(J_asked)
        mean = network.functions(task.mode[None], task.inputs)[0]
        return GaussianFunctions(mean, np.sqrt(variance))
