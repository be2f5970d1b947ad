"""The energy of a network as a target of walks."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from onlinefa.walks.targets import Target
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.models.network import NetworkPosterior


class NetworkTarget(Target):
    """The negative log posterior of a network's weights, in units of the prior.

    Parameters
    ----------
    network : NetworkPosterior
        The posterior.
    """

    def __init__(self, network: NetworkPosterior) -> None:
        super().__init__(network.dimension, len(network.y))
        self.network = network

    def gradient(self, theta: Array, rows: NDArray[np.int64]) -> Array:
        """Estimate the gradient of the energy from a batch, without bias."""
        X, y = self.network.table
        index = torch.as_tensor(rows, device=self.network.device)
        slope = self.network.misfit_gradient(self.network.tensor(theta), X[index], y[index])
        return self.n_rows / len(rows) * slope.cpu().numpy() + theta
