"""Seeds of PyTorch's global generators, from which weights, dropout and noise are drawn."""

from __future__ import annotations

import torch

__all__ = ["set_seed"]


def set_seed(seed: int, device: str) -> None:
    """Seed the generators of the CPU and of the device.

    On a machine without a GPU, `torch.manual_seed` stores a traceback for a later start of CUDA,
    which takes longer than a step of a small network.

    Parameters
    ----------
    seed : int
        The seed.
    device : str
        Device of the network.
    """
    torch.default_generator.manual_seed(seed)
    if device != "cpu":
        torch.cuda.manual_seed(seed)
