"""The Laplace approximation of the last layer (laplace-torch)."""

from __future__ import annotations

from typing import ClassVar

from onlinefa_benchmark.deep_posteriors._laplace_torch import TorchLaplace


class Laplace(TorchLaplace):
    """Gaussian over the weights of the last layer, with Kronecker factors.

    Parameters
    ----------
    prior, validation_images
        As in `TorchLaplace`.
    """

    subset: ClassVar[str] = "last_layer"
    structure: ClassVar[str] = "kron"
