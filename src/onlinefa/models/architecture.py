"""The shape of a network with one hidden layer of erf units, and where its weights are."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt

import numpy as np
import torch
from torch import Tensor

from onlinefa.gaussian import Array
from onlinefa.models.covariance import NeuralNetwork


@dataclass(frozen=True)
class OneHiddenLayer:
    """f(x) = b + sum_h v_h erf(w_h'x), (2.25), with C outputs.

    All weights are one vector: the w_h one after the other, then v, then b.
    """

    inputs: int
    """p, the constant one among them."""
    width: int
    outputs: int = 1

    @property
    def dimension(self) -> int:
        """The number of weights: H p + H C + C."""
        return self.last_layer + (self.width + 1) * self.outputs

    @property
    def last_layer(self) -> int:
        """Where the weights of the last layer begin."""
        return self.width * self.inputs

    def forward(self, weights: Tensor, X: Tensor) -> Tensor:
        """f at each row of X, of shape (..., N, C), for weights of shape (..., D)."""
        lead, first, C = weights.shape[:-1], self.last_layer, self.outputs
        below = weights[..., :first].reshape(*lead, self.width, self.inputs)
        above = weights[..., first:-C].reshape(*lead, self.width, C)
        return torch.erf(X @ below.mT) @ above + weights[..., None, -C:]

    def jacobian(self, weights: Tensor, X: Tensor, first: int = 0) -> Tensor:
        """The derivatives of f at each row of X in the weights from one on: (N, C, D - first).

        That is the first weight of all, or the first of the last layer.
        """
        H, C = self.width, self.outputs
        below = weights[: self.last_layer].view(H, self.inputs)
        above = weights[self.last_layer : -C].view(H, C)
        reached = X @ below.T
        units = torch.cat([torch.erf(reached), torch.ones_like(X[:, :1])], dim=1)
        one_each = torch.eye(C, dtype=X.dtype, device=X.device)
        # Of output c in v_hc', and in b_c': the unit's value, or one, if c' = c.
        of_last = torch.einsum("nh,ck->nchk", units, one_each).reshape(len(X), C, -1)
        if first == self.last_layer:
            return of_last
        slopes = 2 / sqrt(pi) * torch.exp(-(reached**2))
        of_first = torch.einsum("nh,hc,np->nchp", slopes, above, X).reshape(len(X), C, -1)
        return torch.cat([of_first, of_last], dim=2)

    def scales(self, prior: NeuralNetwork) -> Array:
        """The prior's standard deviation of each weight."""
        return np.concatenate(
            [
                np.full(self.last_layer, prior.sigma_w),
                np.full(self.width * self.outputs, prior.omega / sqrt(self.width)),
                np.full(self.outputs, prior.sigma_b),
            ]
        )
