"""Import of torchvision beside a build of PyTorch without CUDA.

The usual wheels of torchvision for Linux are built for CUDA. Their compiled operators do not load
beside a build of PyTorch for the CPU, and version 0.28 cannot be imported without two of them. No
package needs them for SWAG, but all packages other than this one import torchvision.
"""

from __future__ import annotations

import torch

_LIBRARY = torch.library.Library("torchvision", "FRAGMENT")


def declare_missing_operators() -> None:
    """Import torchvision; declare the operators if it cannot load its own."""
    try:
        import torchvision  # noqa: F401
    except RuntimeError as error:
        if "torchvision::nms" not in str(error):
            raise
        for name in ("nms", "qnms"):
            _LIBRARY.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
