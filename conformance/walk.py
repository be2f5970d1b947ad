"""The network and the walks of its weights that every package is given."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import nn

UNITS = (4, 6, 2)  # units of the input, the hidden layer and the output
LAYERS = tuple((inputs + 1) * outputs for inputs, outputs in pairwise(UNITS))


@dataclass(frozen=True)
class Walk:
    """Settings of a walk.

    Parameters
    ----------
    steps : int
        Number of weight vectors.
    columns : int
        Number K of deviations that SWAG keeps.
    """

    steps: int
    columns: int

    def generate(self, seed: int = 0) -> np.ndarray:
        """Generate the weights of all steps.

        The walk is an AR(1) process in its stationary state, with a correlation of 0.5 between
        successive steps. Three factors, which all weights share, couple the two layers. The
        standard deviation of a weight is about a quarter of the typical size of a weight.

        Parameters
        ----------
        seed : int, default=0
            Seed of the weights.

        Returns
        -------
        rows : ndarray of shape (steps, D)
            Weight vectors in float32, the precision of the network.
        """
        random, D = np.random.default_rng(seed), sum(LAYERS)
        centre = 0.4 * random.standard_normal(D)
        factors = 0.05 * random.standard_normal((D, 3))
        normals = random.standard_normal((self.steps, D + 3))
        shocks = normals[:, :3] @ factors.T + 0.05 * normals[:, 3:]
        deviations = shocks.copy()
        for previous, current, shock in zip(deviations, deviations[1:], shocks[1:], strict=False):
            current[:] = 0.5 * previous + math.sqrt(0.75) * shock
        return (centre + deviations).astype(np.float32)


WALKS = (Walk(steps=10, columns=10), Walk(steps=100, columns=20))


def make_network() -> nn.Sequential:
    """Create the network, whose parameters are one layer after the other."""
    first, second = (nn.Linear(*pair) for pair in pairwise(UNITS))
    return nn.Sequential(first, nn.Tanh(), second)


def set_weights(network: nn.Module, row: np.ndarray) -> None:
    """Set the parameters of a network to a vector."""
    with torch.no_grad():
        nn.utils.vector_to_parameters(torch.tensor(row), network.parameters())


def get_weights(network: nn.Module) -> np.ndarray:
    """Return the parameters of a network as a vector."""
    return nn.utils.parameters_to_vector(network.parameters()).detach().numpy().copy()
