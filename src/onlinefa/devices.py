"""Which device a fit runs on: what the configuration asks for, and what there is."""

from __future__ import annotations

import logging
import os
import platform

log = logging.getLogger(__name__)


class NoDevice(RuntimeError):
    """The device that the configuration asks for is not there."""


def resolve(wanted: str) -> str:
    """`cpu` or `cuda`. Under `auto` a machine without a GPU is worth a warning and no more."""
    if wanted == "cpu":
        return "cpu"
    import torch

    if torch.cuda.is_available():
        return "cuda"
    reason = f"PyTorch {torch.__version__} finds no GPU on {platform.node()} ({_assigned()})"
    if wanted == "cuda":
        raise NoDevice(f"device: cuda, but {reason}; ask for cpu, or for auto")
    log.warning("device: auto is the CPU, because %s", reason)
    return "cpu"


def describe(device: str) -> str:
    """What the rows say: `cpu`, or which GPU."""
    if device == "cpu":
        return "cpu"
    import torch

    return f"{torch.cuda.get_device_name()} ({_assigned()})"


def _assigned() -> str:
    """Slurm says with this variable which GPUs are a job's own."""
    return f"CUDA_VISIBLE_DEVICES={os.environ.get('CUDA_VISIBLE_DEVICES', 'unset')}"
