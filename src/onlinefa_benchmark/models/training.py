"""Steps of SGD with many networks at once: several priors and noises, and several runs of each.

The time of a step of SGD over a small network is mostly overhead, so that thirty networks take
little longer than one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.models.likelihoods import Gaussian, Likelihood
from onlinefa_benchmark.models.network import NetworkPosterior


@dataclass(frozen=True, eq=False)
class Networks:
    """B networks of one shape for one table, which differ in prior and noise, and R runs of each.

    Weights are of shape (B, R, D), in units of each prior. The runs differ in their starts and in
    their batches; run r of one network has the same batches as run r of another. Computations are
    in single precision, as is common for networks, in two thirds of the time of double precision.

    Parameters
    ----------
    members : sequence of NetworkPosterior
        The B networks.
    """

    members: Sequence[NetworkPosterior]

    @property
    def first(self) -> NetworkPosterior:
        """The first network, which has the shape and the table of all of them."""
        return self.members[0]

    @cached_property
    def _table(self) -> tuple[Tensor, Tensor]:
        X, y = self.first.table
        return X.float(), y.float() if y.is_floating_point() else y

    @cached_property
    def _scales(self) -> Tensor:
        return torch.stack([member.scales for member in self.members])[:, None].float()

    def single(self, values: Array) -> Tensor:
        """Return an array as a tensor of single precision on the device."""
        return self.first.tensor(values.astype(np.float32))

    @cached_property
    def _likelihood(self) -> Likelihood:
        likelihoods = [member.likelihood for member in self.members]
        noises = [float(one.noise) for one in likelihoods if isinstance(one, Gaussian)]
        if noises:
            return Gaussian(self.single(np.array(noises))[:, None])
        if any(one != likelihoods[0] for one in likelihoods):
            raise ValueError("networks with this likelihood must have the same one")
        return likelihoods[0]

    def misfit_gradient(self, theta: Tensor, rows: Tensor, mask: Tensor | None = None) -> Tensor:
        """Estimate the gradient of the misfit over N from R batches: of shape (B, R, D)."""
        X, y = self._table
        X, y = X[rows], y[rows]
        _, gradient = self.first.shape.pull_back(
            self._scales * theta, X, lambda outputs: self._likelihood.derive(outputs, y), mask
        )
        return self._scales * gradient / rows.shape[-1]

    def energy_gradient(self, theta: Tensor, rows: Tensor, mask: Tensor | None = None) -> Tensor:
        """Estimate the gradient of the energy over N from R batches: of shape (B, R, D)."""
        return self.misfit_gradient(theta, rows, mask) + theta / len(self.first.y)

    def walk(
        self,
        starts: Array,
        rates: Array,
        steps: int,
        every: int,
        batch: int,
        random: np.random.Generator,
    ) -> NDArray[np.float32]:
        """Run SGD with constant learning rates, and return the weights after every few steps.

        A walk that diverges has values that are not finite from then on; the other walks continue.

        Parameters
        ----------
        starts : array of shape (B, R, D)
            Initial weights.
        rates : array of shape (B,)
            Learning rate of each network.
        steps : int
            Number of steps.
        every : int
            Number of steps between two observations.
        batch : int
            Number of rows in a batch.
        random : numpy.random.Generator
            Source of the order of rows.

        Returns
        -------
        array of shape (B, R, steps // every, D)
            Observed weights.
        """
        theta, speed = self.single(starts), self.single(rates)[:, None, None]
        B, R, D = theta.shape
        seen = np.empty((B, R, steps // every, D), dtype=np.float32)
        for step, rows in enumerate(self.batches(R, steps, batch, random), start=1):
            theta = theta - speed * self.energy_gradient(theta, rows)
            if step % every == 0:
                seen[:, :, step // every - 1] = theta.cpu().numpy()
        return seen

    def batches(
        self, R: int, steps: int, batch: int, random: np.random.Generator
    ) -> Iterator[Tensor]:
        """Yield the rows of each step, of shape (R, batch).

        Each run goes through the table in its own order, which is drawn anew in each epoch. In each
        epoch, the rows that do not fill a batch are left out.

        Parameters
        ----------
        R : int
            Number of runs.
        steps : int
            Number of steps.
        batch : int
            Number of rows in a batch.
        random : numpy.random.Generator
            Source of the order of rows.
        """
        N = len(self.first.y)
        steps_per_epoch = N // batch
        epochs = -(-steps // steps_per_epoch)
        for epoch in self.first.iterate(range(epochs), "epochs"):
            orders = np.stack([random.permutation(N)[: N - N % batch] for _ in range(R)])
            left = steps - epoch * steps_per_epoch
            for rows in np.split(orders, steps_per_epoch, axis=1)[:left]:
                yield torch.as_tensor(np.ascontiguousarray(rows), device=self.first.device)
