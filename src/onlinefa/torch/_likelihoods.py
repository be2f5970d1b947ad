"""Likelihoods of targets given the outputs of a network, of shape (N, C)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn


class Likelihood(ABC):
    """Base class for the likelihoods of Laplace's approximation."""

    has_noise: bool
    """Whether there is a variance of the noise; otherwise it is 1."""

    @abstractmethod
    def multiply_root(self, outputs: Tensor, vectors: Tensor) -> Tensor:
        """Compute R v, where R R' is the Hessian of the misfit in the outputs, for noise 1."""

    @abstractmethod
    def count_targets(self, targets: Tensor) -> int:
        """Return the number of targets."""

    @abstractmethod
    def compute_misfit(self, outputs: Tensor, targets: Tensor) -> float:
        """Compute the negative log-likelihood for noise 1, up to a constant."""

    @abstractmethod
    def compute_log_likelihood(self, misfit: float, targets: float, noise: float) -> float:
        """Compute the log-likelihood of a number of targets from their misfit."""

    @abstractmethod
    def score_predictions(self, outputs: Tensor, targets: Tensor, noise: float) -> float:
        """Compute the log-likelihood of targets under a mixture of S networks.

        The outputs have shape (S, N, C); the densities of the networks are averaged.
        """


class Regression(Likelihood):
    """Targets that are the outputs plus Gaussian noise."""

    has_noise = True

    def multiply_root(self, outputs: Tensor, vectors: Tensor) -> Tensor:
        """Return the vectors: the Hessian is the identity."""
        return vectors

    def count_targets(self, targets: Tensor) -> int:
        """Return the number of targets, which have C entries for each observation."""
        return targets.numel()

    def compute_misfit(self, outputs: Tensor, targets: Tensor) -> float:
        """Compute half of the sum of squared errors."""
        targets = _match_targets(outputs, targets)
        return float(torch.sum((targets - outputs).double() ** 2)) / 2

    def compute_log_likelihood(self, misfit: float, targets: float, noise: float) -> float:
        """Compute the log density of Gaussian noise."""
        return -misfit / noise - targets / 2 * math.log(2 * math.pi * noise)

    def score_predictions(self, outputs: Tensor, targets: Tensor, noise: float) -> float:
        """Compute the log-likelihood under a mixture of Gaussians."""
        targets = _match_targets(outputs[0], targets)
        squares = torch.sum((targets - outputs).double() ** 2, dim=2)
        logs = -squares / (2 * noise) - outputs.shape[2] / 2 * math.log(2 * math.pi * noise)
        return _sum_log_means(logs)


class Classification(Likelihood):
    """Classes whose logits are the outputs; one output is the logit of the second of two."""

    has_noise = False

    def multiply_root(self, outputs: Tensor, vectors: Tensor) -> Tensor:
        """Multiply by diag(sqrt(p)) - p sqrt(p)', a root of the Hessian diag(p) - pp'."""
        if outputs.shape[1] == 1:
            p = torch.sigmoid(outputs)
            return vectors * torch.sqrt(p * (1 - p))
        p = torch.softmax(outputs, dim=1)
        scaled = p.sqrt() * vectors
        return scaled - p * scaled.sum(dim=1, keepdim=True)

    def count_targets(self, targets: Tensor) -> int:
        """Return the number of observations."""
        return len(targets)

    def compute_misfit(self, outputs: Tensor, targets: Tensor) -> float:
        """Compute the negative log-likelihood of the classes."""
        if outputs.shape[1] == 1:
            outputs = torch.cat([torch.zeros_like(outputs), outputs], dim=1)
        if targets.numel() != len(outputs):
            raise ValueError(
                f"targets have shape {tuple(targets.shape)}, expected one class for each of "
                f"{len(outputs)} observations"
            )
        classes = targets.to(outputs.device).reshape(-1).long()
        return float(nn.functional.cross_entropy(outputs.double(), classes, reduction="sum"))

    def compute_log_likelihood(self, misfit: float, targets: float, noise: float) -> float:
        """Return the negative misfit."""
        return -misfit

    def score_predictions(self, outputs: Tensor, targets: Tensor, noise: float) -> float:
        """Compute the log-likelihood of averaged probabilities."""
        if outputs.shape[2] == 1:
            outputs = torch.cat([torch.zeros_like(outputs), outputs], dim=2)
        classes = targets.to(outputs.device).reshape(1, -1, 1).long()
        logs = torch.log_softmax(outputs.double(), dim=2)
        return _sum_log_means(logs.gather(2, classes.expand(len(logs), -1, 1))[..., 0])


def _match_targets(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return targets of the shape, type and device of outputs."""
    targets = targets.reshape(len(targets), -1).to(outputs)
    if targets.shape != outputs.shape:
        raise ValueError(
            f"targets have shape {tuple(targets.shape)}, outputs {tuple(outputs.shape)}"
        )
    return targets


def _sum_log_means(logs: Tensor) -> float:
    """Average densities, given by their logarithms, over the first axis and sum the logarithms."""
    return float(torch.sum(torch.logsumexp(logs, dim=0) - math.log(len(logs))))


LIKELIHOODS: dict[str, Likelihood] = {
    "classification": Classification(),
    "regression": Regression(),
}
