"""Predictions of networks that are drawn from a posterior of laplace-torch and linearised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, jvp

from onlinefa_benchmark.deep.seeds import set_seed
from onlinefa_benchmark.deep.task import average_probabilities

__all__ = ["LinearisedDraws"]


@dataclass(frozen=True, eq=False)
class LinearisedDraws:
    """Networks f + J (theta - mode), for weights theta that are drawn.

    Derivatives along a few directions take a small part of the time of the Jacobian matrix of every
    image, from which the closed form is computed.

    Parameters
    ----------
    network : torch.nn.Module
        The network at the mode, in evaluation mode.
    posterior : object
        The posterior of laplace-torch of all weights that are trained.
    networks : int
        Number of networks that are drawn.
    seed : int
        Seed of the draws.
    size : int
        Number of bytes that predictions need.
    """

    network: nn.Module
    posterior: Any
    networks: int
    seed: int
    size: int

    def predict(self, inputs: Sequence[Tensor]) -> Tensor:
        """Return class probabilities, of shape (N, C), for batches of images."""
        return average_probabilities(self._draw(inputs))

    def _draw(self, inputs: Sequence[Tensor]) -> Iterator[Tensor]:
        mode = {
            name: value.detach()
            for name, value in self.network.named_parameters()
            if value.requires_grad
        }
        centre = nn.utils.parameters_to_vector(mode.values())
        set_seed(self.seed, str(centre.device))
        for weights in self.posterior.sample(self.networks).detach():
            move = _split(weights - centre, mode)
            yield torch.cat([self._linearise(mode, move, batch) for batch in inputs])

    def _linearise(self, mode: dict[str, Tensor], move: dict[str, Tensor], batch: Tensor) -> Tensor:
        moved: Any = jvp(
            lambda weights: functional_call(self.network, weights, (batch,)), (mode,), (move,)
        )
        value, change = moved
        return (value + change).detach()


def _split(vector: Tensor, like: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the parts of a vector in the shapes of some tensors."""
    parts = torch.split(vector, [each.numel() for each in like.values()])
    return {
        name: part.view(each.shape) for (name, each), part in zip(like.items(), parts, strict=True)
    }
