"""Monte-Carlo dropout (Gal and Ghahramani, 2016)."""

from __future__ import annotations

from numbers import Integral, Real
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.posteriors.base import Functions, Posterior, SampledFunctions, Task

if TYPE_CHECKING:
    import torch


class MCDropout(Posterior):
    """A network that is trained with dropout, with units that are dropped when it predicts.

    Adam trains the network from the mode, with another mask of hidden units for each row.

    Parameters
    ----------
    dropout : float
        Probability with which a hidden unit is dropped.
    steps : int
        Number of steps of Adam.
    learning_rate : float
        Initial learning rate; it falls to zero.
    """

    stochastic: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "dropout": [Interval(Real, 0, 1, closed="neither")],
        "steps": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self, *, dropout: float = 0.05, steps: int = 2000, learning_rate: float = 0.01
    ) -> None:
        self.dropout = dropout
        self.steps = steps
        self.learning_rate = learning_rate

    def functions(self, task: Task) -> Functions:
        """Return the functions of the network with different units dropped."""
        return self.timed(task)[0]

    def timed(self, task: Task) -> tuple[Functions, float]:
        """Return the functions and the time, without that of the mode."""
        import torch

        _ = task.mode
        start = perf_counter()
        random = task.random("sampling")
        masks = torch.Generator(device=task.network.device)
        masks.manual_seed(int(random.integers(2**31)))
        theta = self.train(task, random, masks)
        values = self._predict(task, theta, masks)
        return SampledFunctions(values), perf_counter() - start

    def train(self, task: Task, random: np.random.Generator, masks: torch.Generator) -> Array:
        """Return the weights after training, in units of the prior."""
        import torch

        from onlinefa_benchmark.models.training import Networks

        networks, N = Networks([task.network]), len(task.network.y)
        theta = networks.single(task.mode[None, None]).requires_grad_()
        optimiser = torch.optim.Adam([theta], lr=self.learning_rate)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, self.steps)
        for rows in networks.batches(1, self.steps, min(task.batch, N), random):
            mask = self._draw_mask((*rows.shape, task.network.width), masks)
            theta.grad = networks.energy_gradient(theta.detach(), rows, mask)
            optimiser.step()
            schedule.step()
        return theta.detach()[0, 0].double().cpu().numpy()

    def _predict(self, task: Task, theta: Array, masks: torch.Generator) -> Array:
        """Return the outputs of networks, each with the same units dropped for all inputs."""
        import torch

        network = task.network
        weights, X = network.scales * network.tensor(theta), network.tensor(task.inputs)
        with torch.no_grad():
            values = [
                network.shape.forward(weights, X, self._draw_mask((1, network.width), masks))
                for _ in range(task.samples)
            ]
        found = torch.stack(values).cpu().numpy()
        return found[..., 0] if network.likelihood.outputs == 1 else found

    def _draw_mask(self, shape: tuple[int, ...], masks: torch.Generator) -> torch.Tensor:
        """Draw masks of zeros and 1 / (1 - dropout), so that the mean of a factor is one."""
        import torch

        drawn = torch.rand(shape, generator=masks, device=masks.device)
        return (drawn >= self.dropout) / (1 - self.dropout)
