"""Likelihoods of targets given the outputs of a network, for regression and classification."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import log, pi

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
    def derive(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return the derivatives of the misfit with respect to the outputs, of their shape."""

    @abstractmethod
    def constant(self, rows: int) -> float:
        """Return the constant that `misfit` leaves out, for a number of rows."""

    @abstractmethod
    def curvature_root(self, outputs: Tensor) -> Tensor:
        """Return R, of shape (N, C, C), with RR' the Hessian of the misfit in the outputs.

        It is the Fisher information: the Hessian, or its expectation if that depends on y.
        """


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

    def derive(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return the derivatives of the misfit with respect to the outputs."""
        noise = self.noise[..., None, None] if isinstance(self.noise, Tensor) else self.noise
        return (outputs - y[..., None]) / noise

    def constant(self, rows: int) -> float:
        """Return the constant that `misfit` leaves out, for a number of rows."""
        return rows / 2 * log(2 * pi * float(self.noise))

    def curvature_root(self, outputs: Tensor) -> Tensor:
        """Return 1 / sqrt(noise), since the second derivative is 1 / noise."""
        return torch.ones_like(outputs)[..., None] / self.noise**0.5


@dataclass(frozen=True)
class HeteroscedasticGaussian(Likelihood):
    """Targets with Gaussian noise whose variance depends on the input.

    The first output of the network is the mean f, and the second one, g, is the logarithm of the
    variance in some units: the variance is noise exp(spread g). With a spread of zero, it is the
    same for all inputs.

    Parameters
    ----------
    noise : float
        Variance of the noise where the second output is zero.
    spread : float
        Factor of the second output, and therefore of the prior standard deviation of the log
        variance.
    """

    noise: float
    spread: float

    @property
    def outputs(self) -> int:
        """The number of outputs: two."""
        return 2

    def misfit(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return the negative log-likelihood, summed over N, up to a constant."""
        logs = self.spread * outputs[..., 1]
        squares = (y - outputs[..., 0]) ** 2 / self.noise
        return torch.sum(squares * torch.exp(-logs) + logs, dim=-1) / 2

    def derive(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return the derivatives of the misfit with respect to the outputs."""
        residuals = outputs[..., 0] - y
        precision = torch.exp(-self.spread * outputs[..., 1]) / self.noise
        of_mean = residuals * precision
        of_logs = self.spread / 2 * (1 - residuals * of_mean)
        return torch.stack([of_mean, of_logs], dim=-1)

    def constant(self, rows: int) -> float:
        """Return the constant that `misfit` leaves out, for a number of rows."""
        return rows / 2 * log(2 * pi * self.noise)

    def curvature_root(self, outputs: Tensor) -> Tensor:
        """Return the root of the expected Hessian, diag(1 / variance, spread^2 / 2).

        The Hessian itself depends on y and may be indefinite.
        """
        of_mean = torch.exp(-self.spread * outputs[..., 1] / 2) / self.noise**0.5
        of_logs = torch.full_like(of_mean, self.spread / 2**0.5)
        return torch.diag_embed(torch.stack([of_mean, of_logs], dim=-1))


@dataclass(frozen=True)
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

    def derive(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return the derivatives of the misfit with respect to the outputs."""
        labels = torch.nn.functional.one_hot(y, self.classes).to(outputs.dtype)
        return torch.softmax(outputs, dim=-1) - labels

    def constant(self, rows: int) -> float:
        """Return zero: `misfit` is the whole negative log-likelihood."""
        return 0.0

    def curvature_root(self, outputs: Tensor) -> Tensor:
        """Return diag(sqrt p) - p sqrt(p)', since the Hessian is diag(p) - pp'."""
        p = torch.softmax(outputs, dim=-1)
        return torch.diag_embed(p.sqrt()) - p[..., :, None] * p.sqrt()[..., None, :]
