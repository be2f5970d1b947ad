"""Many networks trained at once: several priors and noises, and several runs of each.

A step of SGD over a small network is all overhead: thirty networks take little longer than one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from onlinefa.gaussian import Array
from onlinefa.models.likelihoods import Gaussian, Likelihood
from onlinefa.models.network import NetworkPosterior
from onlinefa.progress import paced


@dataclass(frozen=True, eq=False)
class Networks:
    """B networks of one shape for one table, which differ in prior and noise, and R runs of each.

    Weights are of shape (B, R, D), in units of each prior. The runs differ in their starts and in
    their batches; what is run r of one network has the same batches as run r of another. Single
    precision, as networks are trained everywhere: it takes two thirds of the time.
    """

    members: Sequence[NetworkPosterior]

    @property
    def first(self) -> NetworkPosterior:
        return self.members[0]

    @cached_property
    def _table(self) -> tuple[Tensor, Tensor]:
        X, y = self.first.table
        return X.float(), y.float() if y.is_floating_point() else y

    @cached_property
    def _scales(self) -> Tensor:
        return torch.stack([member.scales for member in self.members])[:, None].float()

    def single(self, values: Array) -> Tensor:
        """In the precision in which all this is computed."""
        return self.first.tensor(values.astype(np.float32))

    @cached_property
    def _likelihood(self) -> Likelihood:
        all_of_them = [member.likelihood for member in self.members]
        noises = [float(one.noise) for one in all_of_them if isinstance(one, Gaussian)]
        if not noises:
            return all_of_them[0]
        return Gaussian(self.single(np.array(noises))[:, None])

    def misfit(self, theta: Tensor, rows: Tensor) -> Tensor:
        """The misfit over N of all networks, estimated from R batches of rows: (B, R)."""
        X, y = self._table
        outputs = self.first.shape.forward(self._scales * theta, X[rows])
        return self._likelihood.misfit(outputs, y[rows]) / rows.shape[-1]

    def energy(self, theta: Tensor, rows: Tensor) -> Tensor:
        """The energy over N of all networks, estimated from R batches of rows: (B, R)."""
        return self.misfit(theta, rows) + torch.sum(theta**2, dim=-1) / (2 * len(self.first.y))

    def train(
        self, starts: Array, rate: float, steps: int, batch: int, random: np.random.Generator
    ) -> Array:
        """To maxima of the posteriors, nearly: by Adam, with a rate that falls to zero."""
        theta = self.single(starts).requires_grad_()
        optimiser = torch.optim.Adam([theta], lr=rate)
        falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
        for rows in self.batches(theta.shape[1], steps, batch, random):
            (theta.grad,) = torch.autograd.grad(self.energy(theta, rows).sum(), theta)
            optimiser.step()
            falling.step()
        return theta.detach().double().cpu().numpy()

    def walk(
        self,
        starts: Array,
        rates: Array,
        steps: int,
        every: int,
        batch: int,
        random: np.random.Generator,
    ) -> NDArray[np.float32]:
        """Every so many steps of SGD, the weights: of shape (B, R, steps // every, D).

        Rates are one for each of the B. A walk that diverges is left to do so: it is no number
        from then on, and the others go on.
        """
        theta, speed = self.single(starts), self.single(rates)[:, None, None]
        B, R, D = theta.shape
        seen = np.empty((B, R, steps // every, D), dtype=np.float32)
        for step, rows in enumerate(self.batches(R, steps, batch, random), start=1):
            theta = theta.detach().requires_grad_()
            (gradient,) = torch.autograd.grad(self.energy(theta, rows).sum(), theta)
            theta = theta.detach() - speed * gradient
            if step % every == 0:
                seen[:, :, step // every - 1] = theta.cpu().numpy()
        return seen

    def batches(
        self, R: int, steps: int, batch: int, random: np.random.Generator
    ) -> Iterator[Tensor]:
        """Rows of each step, of shape (R, batch): each run goes through the table in an order of
        its own, anew when it comes to the end. Rows that do not fill a batch sit an epoch out."""
        N = len(self.first.y)
        for epoch in paced(range(-(-steps // (N // batch))), "epochs"):
            orders = np.stack([random.permutation(N)[: N - N % batch] for _ in range(R)])
            left = steps - epoch * (N // batch)
            for rows in np.split(orders, N // batch, axis=1)[:left]:
                yield torch.as_tensor(np.ascontiguousarray(rows), device=self.first.device)
