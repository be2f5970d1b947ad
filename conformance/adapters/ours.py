"""Adapter of this package."""

from __future__ import annotations

import numpy as np

from conformance.walk import get_weights, make_network, set_weights
from onlinefa import SWAG
from onlinefa.torch import WeightPosterior

PACKAGE = "onlinefa"
VARIANTS = {"default": {}}


def learn(rows: np.ndarray, K: int) -> WeightPosterior:
    """Learn the posterior of a network that takes the steps of a walk."""
    network = make_network()
    posterior = WeightPosterior(network, SWAG(n_components=K))
    for row in rows:
        set_weights(network, row)
        posterior.update()
    return posterior


def draw_weights(rows: np.ndarray, K: int, draws: int) -> np.ndarray:
    """Draw networks with `WeightPosterior.sample`."""
    posterior, random = learn(rows, K), np.random.default_rng(0)
    return np.stack([get_weights(posterior.sample(random)) for _ in range(draws)])
