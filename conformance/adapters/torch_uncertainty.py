"""Adapter of torch-uncertainty."""

from __future__ import annotations

import numpy as np
import torch
from torch_uncertainty.methods import SWAG

from conformance.walk import get_weights, make_network, set_weights

PACKAGE = "torch-uncertainty"
VARIANTS = {"default": {}, "`scale=0.5`": {"scale": 0.5}}


def draw_weights(rows: np.ndarray, K: int, draws: int, **options: float) -> np.ndarray:
    """Draw networks with `SWAG.sample`; an epoch is a step of the walk."""
    network = make_network()
    swag = SWAG(
        network, cycle_start=0, cycle_length=1, max_num_models=K, num_estimators=1, **options
    )
    for epoch, row in enumerate(rows, start=1):
        set_weights(network, row)
        swag.update_wrapper(epoch)
    torch.manual_seed(0)
    return np.stack([get_weights(swag.sample(swag.scale)) for _ in range(draws)])
