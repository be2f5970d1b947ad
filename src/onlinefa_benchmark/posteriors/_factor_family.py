"""A variational family of factor Gaussians, and their divergence from the prior N(0, I).

Gradients in c, F and log psi are computed through draws theta = c + Fz + sqrt(psi) e. The
divergence is exact: with M = I + F'F/psi,
2 KL = |c|^2 + |F|^2 + sum(psi) - D - sum(log psi) - log det M.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from onlinefa_benchmark.arrays import Array


@dataclass(frozen=True, eq=False)
class FactorFamily:
    """B Gaussians N(c, FF' + diag(psi)) whose parameters are optimised.

    Factors and noise are in units of the standard deviations u of the noise at the start, so that
    one learning rate is suitable for weights that the table determines well and for others:
    F = diag(u) G and psi = u^2 exp(log_ratio). The means are in units of the prior, because they
    move further than that.

    Parameters
    ----------
    units : tensor of shape (B, D)
        Standard deviations of the noise at the start, u.
    mean : tensor of shape (B, D)
        Means c.
    scaled : tensor of shape (B, D, K)
        Factors G; with K = 0 the weights are independent.
    log_ratio : tensor of shape (B, D)
        Logarithms of the noise over that at the start.
    """

    units: Tensor
    mean: Tensor
    scaled: Tensor
    log_ratio: Tensor

    @classmethod
    def at(cls, mean: Tensor, factors: Tensor, noise: Tensor) -> FactorFamily:
        """Return Gaussians to be optimised, given where they start."""
        units = noise.sqrt()
        found = cls(units, mean.clone(), factors / units[..., None], torch.zeros_like(mean))
        for values in found.parameters():
            values.requires_grad_()
        return found

    def parameters(self) -> list[Tensor]:
        """Return the tensors that are optimised."""
        return [self.mean, self.scaled, self.log_ratio]

    @property
    def factors(self) -> Tensor:
        """Factors F, of shape (B, D, K)."""
        return self.units[..., None] * self.scaled

    @property
    def noise(self) -> Tensor:
        """Variances psi, of shape (B, D)."""
        return self.units**2 * torch.exp(self.log_ratio)

    def draw(self, number: int, random: torch.Generator) -> Tensor:
        """Draw `number` vectors of weights from each Gaussian: of shape (B, number, D)."""
        B, D, K = self.factors.shape
        drawn = torch.randn(
            (B, number, K + D), generator=random, dtype=self.mean.dtype, device=self.mean.device
        )
        spread = drawn[..., K:] * self.noise.sqrt()[:, None]
        return self.mean[:, None] + drawn[..., :K] @ self.factors.mT + spread

    def divergence(self) -> Tensor:
        """Return the KL divergence of each Gaussian from N(0, I), in O(D K^2)."""
        factors, noise = self.factors, self.noise
        _, D, K = factors.shape
        M = torch.eye(K, dtype=noise.dtype, device=noise.device) + factors.mT @ (
            factors / noise[..., None]
        )
        squares = torch.sum(factors**2, dim=(1, 2))
        squares = squares + torch.sum(self.mean**2 + noise - noise.log(), dim=1)
        return (squares - D - torch.logdet(M)) / 2

    def members(self) -> Iterator[tuple[Array, Array, Array]]:
        """Iterate over mean, factors and noise of each Gaussian."""
        found = (self.mean, self.factors, self.noise)
        return zip(*(values.detach().double().cpu().numpy() for values in found), strict=True)
