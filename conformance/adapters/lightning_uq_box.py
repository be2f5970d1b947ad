"""Adapter of lightning-uq-box."""

from __future__ import annotations

import numpy as np
import torch
from lightning_uq_box.uq_methods import SWAGRegression

from conformance.walk import get_weights, make_network, set_weights

PACKAGE = "lightning-uq-box"
VARIANTS = {"default": {}, "buffers of the mean set to zero": {"zero_means": True}}


def draw_weights(rows: np.ndarray, K: int, draws: int, *, zero_means: bool = False) -> np.ndarray:
    """Draw networks with `SWAGBase.sample_state`.

    As in `SWAGBase.training_step`, the first snapshot is that of the weights which the network has
    when it is passed to SWAG.
    """
    network = make_network()
    set_weights(network, rows[0])
    swag = SWAGRegression(
        network,
        max_swag_snapshots=K,
        snapshot_freq=1,
        num_mc_samples=1,
        swag_lr=0.01,
        loss_fn=torch.nn.MSELoss(),
    )
    if zero_means:
        for name, buffer in swag.model.named_buffers():
            if name.endswith("_mean"):
                buffer.detach().zero_()
    for row in rows:
        set_weights(swag.model, row)
        swag.update_uncertainty_buffers()
    torch.manual_seed(0)
    result = []
    for _ in range(draws):
        swag.sample_state()
        result.append(get_weights(swag.model))
    return np.stack(result)
