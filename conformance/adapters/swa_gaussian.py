"""Adapter of swa-gaussian, the maintained copy of the code of the paper's authors."""

from __future__ import annotations

import numpy as np
import torch
from swag.posteriors import SWAG

from conformance.walk import make_network, set_weights

PACKAGE = "swa-gaussian"
VARIANTS = {
    "`cov=True`": {},
    "`cov=True, scale=0.5`": {"scale": 0.5},
    "`cov=True, scale=0.5, block=True`": {"scale": 0.5, "block": True},
}


def draw_weights(rows: np.ndarray, K: int, draws: int, **options: float) -> np.ndarray:
    """Draw networks with `SWAG.sample`, whose weights are buffers of the same names."""
    network = make_network()
    swag = SWAG(make_network, no_cov_mat=False, max_num_models=K)
    for row in rows:
        set_weights(network, row)
        swag.collect_model(network)
    torch.manual_seed(0)
    names, result = [name for name, _ in network.named_parameters()], []
    for _ in range(draws):
        swag.sample(cov=True, **options)
        tensors = swag.base.state_dict()
        result.append(torch.cat([tensors[name].flatten() for name in names]).numpy())
    return np.stack(result)
