"""The posterior of a network with one hidden layer, and the walk of SGD over it.

The priors are those of `covariance.NeuralNetwork`. Every weight is in units of its prior standard
deviation, so that the prior is N(0, I) for any width: with theta = (z_w, z_v, z_b),
w_h = sigma_w z_w, v_h = omega / sqrt(H) z_v and b = sigma_b z_b. In these units one learning rate
is suitable for all widths.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.models.architecture import OneHiddenLayer
from onlinefa_benchmark.models.covariance import NeuralNetwork
from onlinefa_benchmark.models.likelihoods import Likelihood
from onlinefa_benchmark.models.sgd_walk import WalkDiverged

if TYPE_CHECKING:
    from onlinefa_benchmark.context import Progress

log = logging.getLogger(__name__)

_CHUNK = 2**24  # numbers that a batched forward pass may hold at a time
_POWER_STEPS = 30


@dataclass(frozen=True, eq=False)
class NetworkPosterior:
    """The posterior of a network's weights.

    Parameters
    ----------
    X : array of shape (N, p)
        Training inputs, with a constant one as their last column.
    y : array of shape (N,)
        Training targets.
    prior : NeuralNetwork
        Prior standard deviations of the weights.
    likelihood : Likelihood
        Likelihood of the targets given the outputs.
    width : int
        Number of hidden units.
    device : str
        Device on which the network is evaluated.
    progress : Progress, optional
        Reports the progress of training.
    """

    X: Array
    y: Array
    prior: NeuralNetwork
    likelihood: Likelihood
    width: int
    device: str = "cpu"
    progress: Progress | None = None

    @property
    def shape(self) -> OneHiddenLayer:
        """The architecture of the network."""
        return OneHiddenLayer(self.X.shape[1], self.width, self.likelihood.outputs)

    @property
    def dimension(self) -> int:
        """The number of weights."""
        return self.shape.dimension

    @property
    def last_layer(self) -> int:
        """The index of the first weight of the last layer."""
        return self.shape.last_layer

    @cached_property
    def table(self) -> tuple[Tensor, Tensor]:
        """Training inputs and targets as tensors on the device."""
        return self.tensor(self.X), self.tensor(self.y)

    @cached_property
    def scales(self) -> Tensor:
        """The prior standard deviation of each weight."""
        return self.tensor(self.shape.scales(self.prior))

    def tensor(self, values: Array) -> Tensor:
        """Return an array as a tensor on the device."""
        return torch.as_tensor(np.ascontiguousarray(values), device=self.device)

    def outputs(self, theta: Tensor, X: Tensor) -> Tensor:
        """Return outputs of shape (..., N, C) at the rows of X, for theta of shape (..., D)."""
        return self.shape.forward(self.scales * theta, X)

    def functions(self, thetas: Array, inputs: Array) -> Array:
        """Evaluate several networks.

        Parameters
        ----------
        thetas : array of shape (S, D)
            Weights of S networks, in units of the prior.
        inputs : array of shape (N, p)
            Inputs.

        Returns
        -------
        array of shape (S, N), or (S, N, C) for C classes
            Outputs.
        """
        X, weights = self.tensor(inputs), self.tensor(thetas)
        chunk = max(1, _CHUNK // (len(inputs) * self.width))
        with torch.no_grad():
            values = torch.cat([self.outputs(part, X) for part in torch.split(weights, chunk)])
        return self._squeeze(values.cpu().numpy(), axis=-1)

    def jacobian(self, theta: Array, inputs: Array, first: int = 0) -> Array:
        """Return the derivatives of the outputs at each input with respect to the weights.

        Parameters
        ----------
        theta : array of shape (D,)
            Weights, in units of the prior.
        inputs : array of shape (N, p)
            Inputs.
        first : {0, last_layer}
            Index of the first weight.

        Returns
        -------
        array of shape (N, D - first), or (N, C, D - first) for C classes
            Derivatives.
        """
        weights = self.scales * self.tensor(theta)
        found = self.shape.jacobian(weights, self.tensor(inputs), first) * self.scales[first:]
        return self._squeeze(found.cpu().numpy(), axis=1)

    def _squeeze(self, values: Array, axis: int) -> Array:
        """Remove the axis of outputs if there is one output only."""
        return values.squeeze(axis) if self.likelihood.outputs == 1 else values

    def curvature_rows(self, theta: Array, inputs: Array, first: int = 0) -> Array:
        """Return A, of shape (N C, D - first), with A'A the Gauss-Newton Hessian of the misfit.

        Parameters
        ----------
        theta : array of shape (D,)
            Weights, in units of the prior.
        inputs : array of shape (N, p)
            Inputs.
        first : {0, last_layer}
            Index of the first weight.
        """
        D = self.dimension - first
        J = self.jacobian(theta, inputs, first).reshape(len(inputs), -1, D)
        with torch.no_grad():
            outputs = self.outputs(self.tensor(theta), self.tensor(inputs))
            root = self.likelihood.curvature_root(outputs).cpu().numpy()
        return (root.swapaxes(1, 2) @ J).reshape(-1, D)

    def energy(self, theta: Tensor) -> Tensor:
        """Return the negative log posterior up to a constant: a *sum* over the table and prior."""
        X, y = self.table
        return self.misfit(theta, X, y) + theta @ theta / 2

    def misfit(self, theta: Tensor, X: Tensor, y: Tensor) -> Tensor:
        """Return the negative log-likelihood of rows up to a constant."""
        return self.likelihood.misfit(self.outputs(theta, X), y)

    def maximise(self, start: Array, iterations: int) -> Array:
        """Find a maximum of the posterior by L-BFGS.

        Parameters
        ----------
        start : array of shape (D,)
            Initial weights, in units of the prior.
        iterations : int
            Maximum number of iterations; a warning is logged if they are not sufficient.

        Returns
        -------
        array of shape (D,)
            Weights at the maximum.
        """
        from scipy.optimize import minimize

        def energy(theta: Array) -> tuple[float, Array]:
            at = self.tensor(theta).requires_grad_()
            value = self.energy(at)
            (gradient,) = torch.autograd.grad(value, at)
            return value.item(), gradient.cpu().numpy()

        found = minimize(
            energy,
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": iterations, "maxfun": 2 * iterations, "maxcor": 30},
            callback=self._count_iterations(iterations),
        )
        if not found.success:
            log.warning(
                "L-BFGS did not converge in %d iterations: the largest derivative is %.2g",
                found.nit,
                np.abs(found.jac).max(),
            )
        return found.x

    def _count_iterations(self, iterations: int) -> Callable[[Array], None] | None:
        """Return a callback that reports each iteration, or None without progress."""
        if self.progress is None:
            return None
        pace, done = self.progress.start(iterations, "iterations, at most"), count(1)
        return lambda _: pace.reach(next(done))

    def curvature(self, theta: Array, inputs: Array | None = None) -> float:
        """Return the largest eigenvalue of the Gauss-Newton Hessian of the energy, over N.

        The Hessian is A'A + I, and the eigenvalue is computed by power iteration.

        Parameters
        ----------
        theta : array of shape (D,)
            Weights, in units of the prior.
        inputs : array of shape (rows, p), optional
            Some rows of a large table, from which the eigenvalue is estimated.
        """
        inputs = self.X if inputs is None else inputs
        A = self.curvature_rows(theta, inputs)
        direction = np.ones(len(A))
        for _ in range(_POWER_STEPS):
            direction = A @ (A.T @ (direction / np.linalg.norm(direction)))
        return float(np.linalg.norm(direction) / len(inputs) + 1 / len(self.y))

    def walk(
        self, start: Array, rate: float, batch: int, epochs: int, random: np.random.Generator
    ) -> Iterator[Array]:
        """Walk with SGD and yield, for each epoch, the weights after each step.

        A step follows the gradient of the energy over N, estimated from a batch: the misfit of the
        batch is multiplied by N / batch, and the prior counts in full. In each epoch, the rows that
        do not fill a batch are left out.

        Parameters
        ----------
        start : array of shape (D,)
            Initial weights, in units of the prior.
        rate : float
            Learning rate.
        batch : int
            Number of rows in a batch.
        epochs : int
            Number of epochs.
        random : numpy.random.Generator
            Source of the order of rows.

        Yields
        ------
        array of shape (steps, D)
            Weights after each step of an epoch.

        Raises
        ------
        WalkDiverged
            If a weight is not finite.
        """
        X, y = self.table
        N = len(self.y)
        theta = self.tensor(start).requires_grad_()
        for _ in self.iterate(range(epochs), "epochs"):
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

    def iterate(self, steps: range, unit: str) -> Iterable[int]:
        """Iterate over steps and report the progress, if there is something to report it to."""
        if self.progress is None:
            return steps
        return self.progress.over(steps, unit)
