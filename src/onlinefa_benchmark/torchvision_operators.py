"""Import of torchvision beside a build of PyTorch without CUDA.

The usual wheels of torchvision for Linux are built for CUDA. Their compiled operators do not load
beside a build of PyTorch for the CPU, and version 0.28 cannot be imported without two of them.
laplace-torch, Lightning and all packages that `conformance` compares import torchvision if it is
installed, and none of them needs these operators here.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import torch

_LIBRARY: Any = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]


def declare_missing_operators() -> None:
    """Import torchvision, if it is installed; declare the operators if it cannot load its own."""
    if find_spec("torchvision") is None:
        return
    try:
        import torchvision  # type: ignore[import-untyped]  # noqa: F401
    except RuntimeError as error:
        if "torchvision::nms" not in str(error):
            raise
        for name in ("nms", "qnms"):
            _LIBRARY.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
