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

    Parameters
    ----------
    mean : tensor of shape (B, D)
        Means c.
    factors : tensor of shape (B, D, K)
        Factors F; with K = 0 the weights are independent.
    log_noise : tensor of shape (B, D)
        Logarithms of psi.
    """

    mean: Tensor
    factors: Tensor
    log_noise: Tensor

    def parameters(self) -> list[Tensor]:
        """Return the tensors that are optimised."""
        return [self.mean, self.factors, self.log_noise]

    def draw(self, number: int, random: torch.Generator) -> Tensor:
        """Draw `number` vectors of weights from each Gaussian: of shape (B, number, D)."""
        B, D, K = self.factors.shape
        drawn = torch.randn(
            (B, number, K + D), generator=random, dtype=self.mean.dtype, device=self.mean.device
        )
        spread = drawn[..., K:] * torch.exp(self.log_noise / 2)[:, None]
        return self.mean[:, None] + drawn[..., :K] @ self.factors.mT + spread

    def divergence(self) -> Tensor:
        """Return the KL divergence of each Gaussian from N(0, I), in O(D K^2)."""
        _, D, K = self.factors.shape
        noise = torch.exp(self.log_noise)
        M = torch.eye(K, dtype=noise.dtype, device=noise.device) + self.factors.mT @ (
            self.factors / noise[..., None]
        )
        squares = torch.sum(self.factors**2, dim=(1, 2))
        squares = squares + torch.sum(self.mean**2 + noise - self.log_noise, dim=1)
        return (squares - D - torch.logdet(M)) / 2

    def members(self) -> Iterator[tuple[Array, Array, Array]]:
        """Iterate over mean, factors and noise of each Gaussian."""
        found = (self.mean, self.factors, torch.exp(self.log_noise))
        return zip(*(values.detach().double().cpu().numpy() for values in found), strict=True)
