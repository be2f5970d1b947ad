"""The architecture of networks with one hidden layer of erf units, and the order of weights."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt

import numpy as np
import torch
from torch import Tensor

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.models.covariance import NeuralNetwork


@dataclass(frozen=True)
class OneHiddenLayer:
    """A network f(x) = b + sum_h v_h erf(w_h'x), (2.25), with C outputs.

    All weights form one vector: w_1, ..., w_H, then v, then b.

    Parameters
    ----------
    inputs : int
        Number p of inputs, including the constant one.
    width : int
        Number H of hidden units.
    outputs : int
        Number C of outputs.
    """

    inputs: int
    width: int
    outputs: int = 1

    @property
    def dimension(self) -> int:
        """The number of weights: H p + H C + C."""
        return self.last_layer + (self.width + 1) * self.outputs

    @property
    def last_layer(self) -> int:
        """The index of the first weight of the last layer."""
        return self.width * self.inputs

    def forward(self, weights: Tensor, X: Tensor) -> Tensor:
        """Evaluate the network at each row of X.

        Parameters
        ----------
        weights : tensor of shape (..., D)
            Weights of one or several networks.
        X : tensor of shape (..., N, p)
            Inputs.

        Returns
        -------
        tensor of shape (..., N, C)
            Outputs.
        """
        lead, first, C = weights.shape[:-1], self.last_layer, self.outputs
        below = weights[..., :first].reshape(*lead, self.width, self.inputs)
        above = weights[..., first:-C].reshape(*lead, self.width, C)
        return torch.erf(X @ below.mT) @ above + weights[..., None, -C:]

    def jacobian(self, weights: Tensor, X: Tensor, first: int = 0) -> Tensor:
        """Return the derivatives of the outputs at each row of X with respect to the weights.

        Parameters
        ----------
        weights : tensor of shape (D,)
            Weights of one network.
        X : tensor of shape (N, p)
            Inputs.
        first : {0, last_layer}
            Index of the first weight: 0 for all weights, `last_layer` for those of the last layer.

        Returns
        -------
        tensor of shape (N, C, D - first)
            Derivatives.
        """
        H, C = self.width, self.outputs
        below = weights[: self.last_layer].view(H, self.inputs)
        above = weights[self.last_layer : -C].view(H, C)
        activations = X @ below.T
        units = torch.cat([torch.erf(activations), torch.ones_like(X[:, :1])], dim=1)
        identity = torch.eye(C, dtype=X.dtype, device=X.device)
        # The derivative of output c with respect to v_hc' (or b_c') is the value of unit h (or 1)
        # if c' = c, and 0 otherwise.
        of_last = torch.einsum("nh,ck->nchk", units, identity).reshape(len(X), C, -1)
        if first == self.last_layer:
            return of_last
        slopes = 2 / sqrt(pi) * torch.exp(-(activations**2))
        of_first = torch.einsum("nh,hc,np->nchp", slopes, above, X).reshape(len(X), C, -1)
        return torch.cat([of_first, of_last], dim=2)

    def scales(self, prior: NeuralNetwork) -> Array:
        """Return the prior standard deviation of each weight."""
        return np.concatenate(
            [
                np.full(self.last_layer, prior.sigma_w),
                np.full(self.width * self.outputs, prior.omega / sqrt(self.width)),
                np.full(self.outputs, prior.sigma_b),
            ]
        )
