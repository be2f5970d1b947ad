"""A network with one hidden layer of erf units, its posterior, and how SGD walks over it.

f(x) = b + sum_h v_h erf(w_h'x), (2.25), with the priors of `covariance.NeuralNetwork`. Every weight
is in units of its prior's standard deviation, so that the prior is N(0, I) for any width: with
theta = (z_w, z_v, z_b), w_h = sigma_w z_w, v_h = omega / sqrt(H) z_v and b = sigma_b z_b. In these
units one learning rate does for all widths.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
import torch
from torch import Tensor

from onlinefa.gaussian import Array
from onlinefa.models.covariance import NeuralNetwork
from onlinefa.models.sgd_walk import WalkDiverged

log = logging.getLogger(__name__)

_CHUNK = 2**24  # numbers that a batched forward pass may hold at a time
_POWER_STEPS = 30


@dataclass(frozen=True, eq=False)
class NetworkPosterior:
    """Of a network's weights, given targets y at inputs X, whose last column is a constant one."""

    X: Array
    y: Array
    prior: NeuralNetwork
    noise: float
    width: int
    device: str = "cpu"

    @property
    def dimension(self) -> int:
        """The number of weights: H p + H + 1."""
        return self.width * self.X.shape[1] + self.width + 1

    @property
    def last_layer(self) -> int:
        """Where the weights of the last layer begin."""
        return self.width * self.X.shape[1]

    @cached_property
    def _table(self) -> tuple[Tensor, Tensor]:
        return self.tensor(self.X), self.tensor(self.y)

    def tensor(self, values: Array) -> Tensor:
        return torch.as_tensor(np.ascontiguousarray(values), device=self.device)

    def outputs(self, theta: Tensor, X: Tensor) -> Tensor:
        """f at each row of X, for one vector of weights."""
        H, p = self.width, self.X.shape[1]
        hidden = torch.erf(X @ (self.prior.sigma_w * theta[: H * p].view(H, p)).T)
        above = self.prior.omega / sqrt(H) * theta[H * p : -1]
        return hidden @ above + self.prior.sigma_b * theta[-1]

    def functions(self, thetas: Array, inputs: Array) -> Array:
        """f at each input, of shape (S, N), for S vectors of weights: in one batched pass."""
        X = self.tensor(inputs)
        at_a_time = max(1, _CHUNK // (len(inputs) * self.width))
        with torch.no_grad():
            values = torch.func.vmap(lambda theta: self.outputs(theta, X), chunk_size=at_a_time)(
                self.tensor(thetas)
            )
        return values.cpu().numpy()

    def jacobian(self, theta: Array, inputs: Array) -> Array:
        """The derivatives of f at each input in all weights, of shape (N, D)."""
        gradient = torch.func.grad(lambda weights, x: self.outputs(weights, x[None])[0])
        rows = torch.func.vmap(gradient, in_dims=(None, 0))
        return rows(self.tensor(theta), self.tensor(inputs)).cpu().numpy()

    def energy(self, theta: Tensor) -> Tensor:
        """Minus the log posterior, but for a constant: a *sum* over the table, and the prior."""
        X, y = self._table
        return self._misfit(theta, X, y) + theta @ theta / 2

    def _misfit(self, theta: Tensor, X: Tensor, y: Tensor) -> Tensor:
        return torch.sum((y - self.outputs(theta, X)) ** 2) / (2 * self.noise)

    def maximise(self, start: Array, iterations: int) -> Array:
        """A maximum of the posterior, by L-BFGS from a start."""
        from scipy.optimize import minimize

        def energy(theta: Array) -> tuple[float, Array]:
            at = self.tensor(theta).requires_grad_()
            value = self.energy(at)
            (gradient,) = torch.autograd.grad(value, at)
            return value.item(), gradient.cpu().numpy()

        options = {"maxiter": iterations, "maxfun": 2 * iterations, "maxcor": 30}
        found = minimize(energy, start, jac=True, method="L-BFGS-B", options=options)
        if not found.success:
            log.warning(
                "not quite a mode after %d iterations: a slope of %.2g is left",
                found.nit,
                np.abs(found.jac).max(),
            )
        return found.x

    def curvature(self, theta: Array) -> float:
        """The largest eigenvalue of the energy's Hessian in its Gauss-Newton form, over N.

        J'J / noise + I, by power iteration, where J has the derivatives of all outputs.
        """
        J = self.jacobian(theta, self.X)
        direction = np.ones(len(J))
        for _ in range(_POWER_STEPS):
            direction = J @ (J.T @ (direction / np.linalg.norm(direction)))
        return float(np.linalg.norm(direction) / self.noise + 1) / len(self.y)

    def walk(
        self, start: Array, rate: float, batch: int, epochs: int, random: np.random.Generator
    ) -> Iterator[Array]:
        """The weights after each step of SGD with reshuffled batches: an array for each epoch.

        A step follows the gradient of the energy over N, estimated from a batch: the misfit of the
        batch is multiplied by N / batch, and the prior counts in full. Rows that do not fill a
        batch sit an epoch out.
        """
        X, y = self._table
        N = len(self.y)
        theta = self.tensor(start).requires_grad_()
        for _ in range(epochs):
            order = torch.as_tensor(random.permutation(N), device=self.device)
            seen = []
            for rows in order[: N - N % batch].view(-1, batch):
                loss = self._misfit(theta, X[rows], y[rows]) / batch + theta @ theta / (2 * N)
                (gradient,) = torch.autograd.grad(loss, theta)
                theta = (theta.detach() - rate * gradient).requires_grad_()
                seen.append(theta.detach())
            weights = torch.stack(seen).cpu().numpy()
            if not np.isfinite(weights).all():
                raise WalkDiverged(f"SGD with a learning rate of {rate:.3g} diverges")
            yield weights
