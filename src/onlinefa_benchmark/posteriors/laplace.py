"""The Laplace approximation of the weights of the last layer."""

from __future__ import annotations

import numpy as np

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.posteriors._dense_spread import DenseSpread
from onlinefa_benchmark.posteriors._linearised import LinearisedPosterior, Spread
from onlinefa_benchmark.posteriors.base import Task


class Laplace(LinearisedPosterior):
    """The Laplace approximation of the last layer's weights, with their full covariance.

    The weights of the hidden layer are fixed at the mode.

    The Hessian is taken in its Gauss-Newton form, I + A'A, and predictions are those of the network
    linearised at its mode. That is a linear regression on the derivatives of the outputs, and no
    further approximation is made.
    """

    def spread(self, task: Task, mode: Array, random: np.random.Generator) -> Spread:
        """Return the Gaussian N(0, (I + A'A)^-1)."""
        first = self.first_weight(task)
        return DenseSpread(task.network.curvature_rows(mode, task.network.X, first))

    def first_weight(self, task: Task) -> int:
        """Return the index of the first weight of the last layer."""
        return task.network.last_layer
