"""What a network's outputs say of the targets: Gaussian for numbers, categorical for classes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor


class Likelihood(ABC):
    """Of targets y, of shape (..., N), given outputs of shape (..., N, C)."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """C, how many outputs a network has."""

    @abstractmethod
    def misfit(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Minus the log-likelihood, summed over N, but for a constant."""

    @abstractmethod
    def curvature_root(self, outputs: Tensor) -> Tensor:
        """R with RR' = the misfit's second derivatives in the outputs: of shape (N, C, C)."""


@dataclass(frozen=True, eq=False)
class Gaussian(Likelihood):
    """One output, plus noise of a variance; of several, for several networks at once."""

    noise: float | Tensor

    @property
    def outputs(self) -> int:
        return 1

    def misfit(self, outputs: Tensor, y: Tensor) -> Tensor:
        return torch.sum((y - outputs[..., 0]) ** 2, dim=-1) / (2 * self.noise)

    def curvature_root(self, outputs: Tensor) -> Tensor:
        return torch.ones_like(outputs)[..., None] / self.noise**0.5


@dataclass(frozen=True, eq=False)
class Categorical(Likelihood):
    """Classes 0, 1, ..., with the softmax of the outputs as their probabilities."""

    classes: int

    @property
    def outputs(self) -> int:
        return self.classes

    def misfit(self, outputs: Tensor, y: Tensor) -> Tensor:
        logs = torch.log_softmax(outputs, dim=-1)
        labels = y.expand(outputs.shape[:-1])[..., None]
        return -torch.gather(logs, -1, labels)[..., 0].sum(dim=-1)

    def curvature_root(self, outputs: Tensor) -> Tensor:
        """diag(sqrt p) - p sqrt(p)', since the second derivatives are diag(p) - pp'."""
        p = torch.softmax(outputs, dim=-1)
        return torch.diag_embed(p.sqrt()) - p[..., :, None] * p.sqrt()[..., None, :]
