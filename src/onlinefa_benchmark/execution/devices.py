"""The device of a fit, from the configured device and those of the machine."""

from __future__ import annotations

import logging
import os
import platform

log = logging.getLogger(__name__)


class NoDevice(RuntimeError):
    """Exception for a machine that does not have the configured device."""


def resolve(wanted: str) -> str:
    """Return ``cpu`` or ``cuda``; for ``auto``, the CPU with a warning if there is no GPU.

    Raises
    ------
    NoDevice
        If `wanted` is ``cuda`` and there is no GPU.
    """
    if wanted == "cpu":
        return "cpu"
    import torch

    if torch.cuda.is_available():
        return "cuda"
    reason = f"PyTorch {torch.__version__} finds no GPU on {platform.node()} ({_visible()})"
    if wanted == "cuda":
        raise NoDevice(f"device: cuda, but {reason}; set device to cpu or auto")
    log.warning("device: auto uses the CPU, because %s", reason)
    return "cpu"


def describe(device: str) -> str:
    """Return what the rows record: ``cpu``, or the name of the GPU."""
    if device == "cpu":
        return "cpu"
    import torch

    return f"{torch.cuda.get_device_name()} ({_visible()})"


def _visible() -> str:
    """Return the variable with which Slurm assigns GPUs to a job."""
    return f"CUDA_VISIBLE_DEVICES={os.environ.get('CUDA_VISIBLE_DEVICES', 'unset')}"
