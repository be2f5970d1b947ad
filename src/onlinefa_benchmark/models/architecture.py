"""The architecture of networks with one hidden layer, and the order of their weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import pi, sqrt

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.models.activations import Activation
from onlinefa_benchmark.models.covariance import NeuralNetwork


def _erf_slope(inputs: Tensor) -> Tensor:
    return 2 / sqrt(pi) * torch.exp(-(inputs**2))


def _relu_slope(inputs: Tensor) -> Tensor:
    return (inputs > 0).to(inputs.dtype)


_ACTIVATIONS: dict[Activation, tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]] = {
    "erf": (torch.erf, _erf_slope),
    "relu": (torch.relu, _relu_slope),
}


@dataclass(frozen=True)
class OneHiddenLayer:
    """A network f(x) = b + sum_h v_h g(w_h'x) with C outputs; with g = erf it is (2.25).

    All weights form one vector: w_1, ..., w_H, then v, then b.

    Parameters
    ----------
    inputs : int
        Number p of inputs, including the constant one.
    width : int
        Number H of hidden units.
    outputs : int
        Number C of outputs.
    activation : {"erf", "relu"}
        Activation function g of the hidden units.
    """

    inputs: int
    width: int
    outputs: int = 1
    activation: Activation = "erf"

    @property
    def dimension(self) -> int:
        """The number of weights: H p + H C + C."""
        return self.last_layer + (self.width + 1) * self.outputs

    @property
    def last_layer(self) -> int:
        """The index of the first weight of the last layer."""
        return self.width * self.inputs

    def select_output(self, number: int) -> NDArray[np.bool_]:
        """Return which weights belong to one output only: those of its units, and its bias."""
        chosen = np.full(self.dimension, False)
        chosen[self.last_layer + number :: self.outputs] = True
        return chosen

    def add_output(self, weights: Array) -> Array:
        """Return weights of shape (..., D) with a further output, which is zero."""
        above = weights[..., self.last_layer :].reshape(*weights.shape[:-1], -1, self.outputs)
        wider = np.concatenate([above, np.zeros_like(above[..., :1])], axis=-1)
        below = weights[..., : self.last_layer]
        return np.concatenate([below, wider.reshape(*weights.shape[:-1], -1)], axis=-1)

    def forward(self, weights: Tensor, X: Tensor, mask: Tensor | None = None) -> Tensor:
        """Evaluate the network at each row of X.

        Parameters
        ----------
        weights : tensor of shape (..., D)
            Weights of one or several networks.
        X : tensor of shape (..., N, p)
            Inputs.
        mask : tensor of shape (..., N, width), optional
            Factors of the hidden units.

        Returns
        -------
        tensor of shape (..., N, C)
            Outputs.
        """
        below, above, bias = self._split(weights)
        activate, _ = _ACTIVATIONS[self.activation]
        units = activate(X @ below.mT)
        if mask is not None:
            units = units * mask
        return units @ above + bias

    def pull_back(
        self,
        weights: Tensor,
        X: Tensor,
        derive: Callable[[Tensor], Tensor],
        mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return the outputs, and the gradient of a function of them with respect to the weights.

        The formulas take a third to a half of the time of automatic differentiation, most of which
        is overhead for networks of this size.

        Parameters
        ----------
        weights, X, mask
            As for `forward`.
        derive : callable
            Return the derivatives of the function with respect to outputs of shape (..., N, C).

        Returns
        -------
        outputs : tensor of shape (..., N, C)
            Outputs.
        gradient : tensor of shape (..., D)
            Gradient.
        """
        below, above, bias = self._split(weights)
        activate, slope = _ACTIVATIONS[self.activation]
        activations = X @ below.mT
        units, slopes = activate(activations), slope(activations)
        if mask is not None:
            units, slopes = units * mask, slopes * mask
        outputs = units @ above + bias
        of_outputs = derive(outputs)
        of_below = ((of_outputs @ above.mT) * slopes).mT @ X
        of_above = units.mT @ of_outputs
        parts = (of_below.flatten(-2), of_above.flatten(-2), of_outputs.sum(dim=-2))
        return outputs, torch.cat(parts, dim=-1)

    def _split(self, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the weights of shapes (..., H, p) and (..., H, C), and biases (..., 1, C)."""
        lead, first, C = weights.shape[:-1], self.last_layer, self.outputs
        below = weights[..., :first].reshape(*lead, self.width, self.inputs)
        above = weights[..., first:-C].reshape(*lead, self.width, C)
        return below, above, weights[..., None, -C:]

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
        activate, slope = _ACTIVATIONS[self.activation]
        activations = X @ below.T
        units = torch.cat([activate(activations), torch.ones_like(X[:, :1])], dim=1)
        identity = torch.eye(C, dtype=X.dtype, device=X.device)
        # The derivative of output c with respect to v_hc' (or b_c') is the value of unit h (or 1)
        # if c' = c, and 0 otherwise.
        of_last = torch.einsum("nh,ck->nchk", units, identity).reshape(len(X), C, -1)
        if first == self.last_layer:
            return of_last
        of_first = torch.einsum("nh,hc,np->nchp", slope(activations), above, X).reshape(
            len(X), C, -1
        )
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
