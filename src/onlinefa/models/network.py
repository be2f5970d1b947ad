"""A network with one hidden layer, its posterior, and how SGD walks over it.

The priors are those of `covariance.NeuralNetwork`. Every weight is in units of its prior's standard
deviation, so that the prior is N(0, I) for any width: with theta = (z_w, z_v, z_b),
w_h = sigma_w z_w, v_h = omega / sqrt(H) z_v and b = sigma_b z_b. In these units one learning rate
does for all widths.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count

import numpy as np
import torch
from torch import Tensor

from onlinefa.gaussian import Array
from onlinefa.models.architecture import OneHiddenLayer
from onlinefa.models.covariance import NeuralNetwork
from onlinefa.models.likelihoods import Likelihood
from onlinefa.models.sgd_walk import WalkDiverged
from onlinefa.progress import Pace, paced

log = logging.getLogger(__name__)

_CHUNK = 2**24  # numbers that a batched forward pass may hold at a time
_POWER_STEPS = 30


@dataclass(frozen=True, eq=False)
class NetworkPosterior:
    """Of a network's weights, given targets y at inputs X, whose last column is a constant one."""

    X: Array
    y: Array
    prior: NeuralNetwork
    likelihood: Likelihood
    width: int
    device: str = "cpu"

    @property
    def shape(self) -> OneHiddenLayer:
        return OneHiddenLayer(self.X.shape[1], self.width, self.likelihood.outputs)

    @property
    def dimension(self) -> int:
        """The number of weights."""
        return self.shape.dimension

    @property
    def last_layer(self) -> int:
        """Where the weights of the last layer begin."""
        return self.shape.last_layer

    @cached_property
    def table(self) -> tuple[Tensor, Tensor]:
        return self.tensor(self.X), self.tensor(self.y)

    @cached_property
    def scales(self) -> Tensor:
        """The unit of each weight."""
        return self.tensor(self.shape.scales(self.prior))

    def tensor(self, values: Array) -> Tensor:
        return torch.as_tensor(np.ascontiguousarray(values), device=self.device)

    def outputs(self, theta: Tensor, X: Tensor) -> Tensor:
        """f at each row of X, of shape (..., N, C), for weights of shape (..., D)."""
        return self.shape.forward(self.scales * theta, X)

    def functions(self, thetas: Array, inputs: Array) -> Array:
        """f at each input, for S vectors of weights: of shape (S, N), or (S, N, C) of classes."""
        X, weights = self.tensor(inputs), self.tensor(thetas)
        at_a_time = max(1, _CHUNK // (len(inputs) * self.width))
        with torch.no_grad():
            values = torch.cat([self.outputs(part, X) for part in torch.split(weights, at_a_time)])
        return self._squeezed(values.cpu().numpy(), axis=-1)

    def jacobian(self, theta: Array, inputs: Array, first: int = 0) -> Array:
        """The derivatives of f at each input in the weights from the first on: of shape
        (N, D - first), or (N, C, D - first)."""
        weights = self.scales * self.tensor(theta)
        found = self.shape.jacobian(weights, self.tensor(inputs), first) * self.scales[first:]
        return self._squeezed(found.cpu().numpy(), axis=1)

    def _squeezed(self, values: Array, axis: int) -> Array:
        """A number needs no axis for itself."""
        return values.squeeze(axis) if self.likelihood.outputs == 1 else values

    def curvature_rows(self, theta: Array, inputs: Array, first: int = 0) -> Array:
        """A with A'A = the misfit's Hessian in its Gauss-Newton form: (N C, D - first)."""
        D = self.dimension - first
        J = self.jacobian(theta, inputs, first).reshape(len(inputs), -1, D)
        with torch.no_grad():
            outputs = self.outputs(self.tensor(theta), self.tensor(inputs))
            root = self.likelihood.curvature_root(outputs).cpu().numpy()
        return (root.swapaxes(1, 2) @ J).reshape(-1, D)

    def energy(self, theta: Tensor) -> Tensor:
        """Minus the log posterior, but for a constant: a *sum* over the table, and the prior."""
        X, y = self.table
        return self.misfit(theta, X, y) + theta @ theta / 2

    def misfit(self, theta: Tensor, X: Tensor, y: Tensor) -> Tensor:
        """Minus the log-likelihood of rows, but for a constant."""
        return self.likelihood.misfit(self.outputs(theta, X), y)

    def maximise(self, start: Array, iterations: int) -> Array:
        """A maximum of the posterior, by L-BFGS from a start."""
        from scipy.optimize import minimize

        def energy(theta: Array) -> tuple[float, Array]:
            at = self.tensor(theta).requires_grad_()
            value = self.energy(at)
            (gradient,) = torch.autograd.grad(value, at)
            return value.item(), gradient.cpu().numpy()

        pace, done = Pace(iterations, "iterations, at most"), count(1)
        options = {"maxiter": iterations, "maxfun": 2 * iterations, "maxcor": 30}
        found = minimize(
            energy, start, jac=True, method="L-BFGS-B", options=options,
            callback=lambda _: pace.reach(next(done)),
        )  # fmt: skip
        if not found.success:
            log.warning(
                "not quite a mode after %d iterations: a slope of %.2g is left",
                found.nit,
                np.abs(found.jac).max(),
            )
        return found.x

    def curvature(self, theta: Array, inputs: Array | None = None) -> float:
        """The largest eigenvalue of the energy's Hessian in its Gauss-Newton form, over N.

        A'A + I by power iteration; of a large table, some of its rows will do.
        """
        A = self.curvature_rows(theta, self.X if inputs is None else inputs)
        rows = len(self.X if inputs is None else inputs)
        direction = np.ones(len(A))
        for _ in range(_POWER_STEPS):
            direction = A @ (A.T @ (direction / np.linalg.norm(direction)))
        return float(np.linalg.norm(direction) / rows + 1 / len(self.y))

    def walk(
        self, start: Array, rate: float, batch: int, epochs: int, random: np.random.Generator
    ) -> Iterator[Array]:
        """The weights after each step of SGD with reshuffled batches: an array for each epoch.

        A step follows the gradient of the energy over N, estimated from a batch: the misfit of the
        batch is multiplied by N / batch, and the prior counts in full. Rows that do not fill a
        batch sit an epoch out.
        """
        X, y = self.table
        N = len(self.y)
        theta = self.tensor(start).requires_grad_()
        for _ in paced(range(epochs), "epochs"):
            order = torch.as_tensor(random.permutation(N), device=self.device)
            seen = []
            for rows in order[: N - N % batch].view(-1, batch):
                loss = self.misfit(theta, X[rows], y[rows]) / batch + theta @ theta / (2 * N)
                (gradient,) = torch.autograd.grad(loss, theta)
                theta = (theta.detach() - rate * gradient).requires_grad_()
                seen.append(theta.detach())
            weights = torch.stack(seen).cpu().numpy()
            if not np.isfinite(weights).all():
                raise WalkDiverged(f"SGD with a learning rate of {rate:.3g} diverges")
            yield weights
