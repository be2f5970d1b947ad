"""Likelihoods of targets given the outputs of a network, for regression and classification."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor


class Likelihood(ABC):
    """Base class of likelihoods of targets y, of shape (..., N), given outputs (..., N, C)."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """The number C of outputs that a network has."""

    @abstractmethod
    def misfit(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return the negative log-likelihood, summed over N, up to a constant."""

    @abstractmethod
    def curvature_root(self, outputs: Tensor) -> Tensor:
        """Return R, of shape (N, C, C), with RR' the Hessian of the misfit in the outputs."""


@dataclass(frozen=True, eq=False)
class Gaussian(Likelihood):
    """Targets that are the network's one output plus Gaussian noise.

    Parameters
    ----------
    noise : float or tensor
        Variance of the noise; a tensor has one variance for each of several networks.
    """

    noise: float | Tensor

    @property
    def outputs(self) -> int:
        """The number of outputs: one."""
        return 1

    def misfit(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return the negative log-likelihood, summed over N, up to a constant."""
        return torch.sum((y - outputs[..., 0]) ** 2, dim=-1) / (2 * self.noise)

    def curvature_root(self, outputs: Tensor) -> Tensor:
        """Return 1 / sqrt(noise), since the second derivative is 1 / noise."""
        return torch.ones_like(outputs)[..., None] / self.noise**0.5


@dataclass(frozen=True, eq=False)
class Categorical(Likelihood):
    """Classes 0, 1, ..., whose probabilities are the softmax of the outputs.

    Parameters
    ----------
    classes : int
        Number of classes.
    """

    classes: int

    @property
    def outputs(self) -> int:
        """The number of outputs: one for each class."""
        return self.classes

    def misfit(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return the negative log-likelihood, summed over N."""
        logs = torch.log_softmax(outputs, dim=-1)
        labels = y.expand(outputs.shape[:-1])[..., None]
        return -torch.gather(logs, -1, labels)[..., 0].sum(dim=-1)

    def curvature_root(self, outputs: Tensor) -> Tensor:
        """Return diag(sqrt p) - p sqrt(p)', since the Hessian is diag(p) - pp'."""
        p = torch.softmax(outputs, dim=-1)
        return torch.diag_embed(p.sqrt()) - p[..., :, None] * p.sqrt()[..., None, :]
