"""Linearised predictions of laplace-torch, with the probit approximation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

__all__ = ["ProbitPrediction", "list_sizes", "make_loader"]


def make_loader(batches: Iterable[tuple[Tensor, Tensor]], size: int) -> DataLoader[Any]:
    """Return images as the package wants them: a loader with a dataset."""
    inputs, labels = zip(*batches, strict=True)
    return DataLoader(TensorDataset(torch.cat(inputs), torch.cat(labels)), batch_size=size)


@dataclass(frozen=True, eq=False)
class ProbitPrediction:
    """Predictions of laplace-torch in closed form.

    Parameters
    ----------
    posterior : object
        The posterior of laplace-torch.
    rows : int
        Images that are predicted at once.
    weights_size : int
        Number of bytes of the network.
    """

    posterior: Any
    rows: int
    weights_size: int

    networks: ClassVar[int] = 0

    @property
    def size(self) -> int:
        """Weights, and the parts of the Hessian matrix."""
        return self.weights_size + sum(list_sizes(self.posterior.H))

    def predict(self, inputs: Sequence[Tensor]) -> Tensor:
        """Return class probabilities, of shape (N, C), for batches of images."""
        parts = [part for batch in inputs for part in torch.split(batch, self.rows)]
        found = [self.posterior(part, pred_type="glm", link_approx="probit") for part in parts]
        return torch.cat(found).detach()


def list_sizes(hessian: Any) -> list[int]:
    """Return the sizes of a matrix, or of the decomposed factors of Kronecker products."""
    if isinstance(hessian, Tensor):
        return [hessian.numel() * hessian.element_size()]
    blocks = [*hessian.eigenvectors, *hessian.eigenvalues]
    return [size for block in blocks for factor in block for size in list_sizes(factor)]
