"""The posterior of a network with one hidden layer, and the walk of SGD over it.

The priors are those of `covariance.NeuralNetwork`. Every weight is in units of its prior standard
deviation, so that the prior is N(0, I) for any width: with theta = (z_w, z_v, z_b),
w_h = sigma_w z_w, v_h = omega / sqrt(H) z_v and b = sigma_b z_b. In these units one learning rate
is suitable for all widths.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from onlinefa.walks.errors import WalkDiverged
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.models.activations import Activation
from onlinefa_benchmark.models.architecture import OneHiddenLayer
from onlinefa_benchmark.models.covariance import NeuralNetwork
from onlinefa_benchmark.models.likelihoods import Likelihood

if TYPE_CHECKING:
    from onlinefa_benchmark.context import Progress

_CHUNK = 2**24  # numbers that a batched forward pass may hold at a time
_POWER_STEPS = 30
_ROWS_FOR_CURVATURE = 200


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
    activation : {"erf", "relu"}
        Activation function of the hidden units.
    """

    X: Array
    y: Array
    prior: NeuralNetwork
    likelihood: Likelihood
    width: int
    device: str = "cpu"
    progress: Progress | None = None
    activation: Activation = "erf"

    @property
    def shape(self) -> OneHiddenLayer:
        """The architecture of the network."""
        inputs, outputs = self.X.shape[1], self.likelihood.outputs
        return OneHiddenLayer(inputs, self.width, outputs, self.activation)

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

    def energy_and_gradient(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        """Return the energy and its gradient, of shape (D,)."""
        X, y = self.table
        outputs, gradient = self.shape.pull_back(
            self.scales * theta, X, lambda outputs: self.likelihood.derive(outputs, y)
        )
        energy = self.likelihood.misfit(outputs, y) + theta @ theta / 2
        return energy, self.scales * gradient + theta

    def misfit_gradient(self, theta: Tensor, X: Tensor, y: Tensor) -> Tensor:
        """Return the gradient of the misfit of rows, of shape (D,)."""
        _, gradient = self.shape.pull_back(
            self.scales * theta, X, lambda outputs: self.likelihood.derive(outputs, y)
        )
        return self.scales * gradient

    def misfit(self, theta: Tensor, X: Tensor, y: Tensor) -> Tensor:
        """Return the negative log-likelihood of rows up to a constant."""
        return self.likelihood.misfit(self.outputs(theta, X), y)

    def information_rows(
        self, theta: Array, rows: NDArray[np.int64], random: np.random.Generator | None = None
    ) -> Array:
        """Return a gradient for each of some observations, whose second moment is an information.

        With random numbers, the derivatives of the misfit in the outputs are replaced by Ru, with
        RR' the Hessian of the misfit in the outputs and independent signs u. As with targets that
        are drawn from the model, the mean of the outer products over all observations is, in
        expectation, the Gauss-Newton Hessian A'A of the misfit. With one output the mean is exactly
        that, whatever the signs. Without random numbers, gradients are those of the observed
        targets, and the second moment is the empirical Fisher information.

        Parameters
        ----------
        theta : array of shape (D,)
            Weights, in units of the prior.
        rows : array of int
            Indices of training rows.
        random : numpy.random.Generator, optional
            Source of the signs.

        Returns
        -------
        array of shape (len(rows), D)
            Gradients, times the square root of the number of training rows.
        """
        N, inputs = len(self.y), self.X[rows]
        J = self.jacobian(theta, inputs).reshape(len(inputs), -1, self.dimension)
        X, y = self.table
        with torch.no_grad():
            outputs = self.outputs(self.tensor(theta), X[rows])
        if random is None:
            cotangents = self.likelihood.derive(outputs, y[rows]).cpu().numpy()
        else:
            signs = random.choice([-1.0, 1.0], size=tuple(outputs.shape))
            root = self.likelihood.curvature_root(outputs).cpu().numpy()
            cotangents = np.einsum("ncd,nd->nc", root, signs)
        return np.sqrt(N) * np.einsum("nc,ncd->nd", cotangents, J)

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

    def critical_rate(self, theta: Array) -> float:
        """Estimate the rate at which descent on the energy over N becomes unstable at some weights.

        Parameters
        ----------
        theta : array of shape (D,)
            Weights, in units of the prior.
        """
        return 2 / self.curvature(theta, self.X[:_ROWS_FOR_CURVATURE])

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
        theta = self.tensor(start)
        for _ in self.iterate(range(epochs), "epochs"):
            order = torch.as_tensor(random.permutation(N), device=self.device)
            seen = []
            for rows in order[: N - N % batch].view(-1, batch):
                gradient = self.misfit_gradient(theta, X[rows], y[rows]) / batch + theta / N
                theta = theta - rate * gradient
                seen.append(theta)
            weights = torch.stack(seen).cpu().numpy()
            if not np.isfinite(weights).all():
                raise WalkDiverged(f"SGD with a learning rate of {rate:.3g} diverges")
            yield weights

    def iterate(self, steps: range, unit: str) -> Iterable[int]:
        """Iterate over steps and report the progress, if there is something to report it to."""
        if self.progress is None:
            return steps
        return self.progress.over(steps, unit)
