"""Import torchvision, which laplace-torch and Lightning import, with any build of PyTorch."""

from __future__ import annotations

import importlib
import warnings
from contextlib import contextmanager

import torch

_LIBRARIES = []  # the names exist as long as these objects


def import_torchvision():
    """Import torchvision, if it is installed.

    PyPI's build does not find its own compiled functions if PyTorch has no CUDA. The tests do not
    call them, so that defining their names is sufficient.
    """
    try:
        importlib.import_module("torchvision")
    except ModuleNotFoundError:
        pass
    except RuntimeError:  # operator torchvision::nms does not exist
        library = torch.library.Library("torchvision", "FRAGMENT")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _LIBRARIES.append(library)
        importlib.import_module("torchvision")


@contextmanager
def ignore_warnings():
    """Ignore warnings, for example those of Lightning.

    pytest-xdist imports the module of a warning in its main process, where Lightning cannot be
    imported if torchvision cannot.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
