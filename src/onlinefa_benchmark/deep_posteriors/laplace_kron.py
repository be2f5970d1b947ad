"""The Laplace approximation of all weights with Kronecker factors (laplace-torch)."""

from __future__ import annotations

from typing import ClassVar

from onlinefa_benchmark.deep_posteriors._laplace_torch import TorchLaplace


class LaplaceKron(TorchLaplace):
    """Gaussian over all weights, with a Gauss-Newton matrix of Kronecker products for layers.

    Parameters
    ----------
    prior, validation_images
        As in `TorchLaplace`.
    """

    subset: ClassVar[str] = "all"
    structure: ClassVar[str] = "kron"
    rows: ClassVar[int] = 50
