"""Training by stochastic gradient Hamiltonian Monte Carlo with cyclical learning rates."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from onlinefa_benchmark.deep.recipes import Loss, Recipe, Schedule, copy_state, follow_cosine

__all__ = ["CyclicalSGHMC"]


class CyclicalSGHMC(Recipe):
    """SGHMC with a learning rate that falls along a cosine in every cycle.

    With the gradient g of the mean loss of N images, friction 1 - m and learning rate l, the
    velocity is v <- m v - l g + sqrt(2 (1 - m) l T / N) e, and the weights are w <- w + v: their
    stationary distribution is proportional to exp(-N loss / T) as l goes to zero. Noise is added in
    the second half of a cycle.

    Parameters
    ----------
    schedule, images
        As in `Recipe`.
    cycles : int
        Number of cycles.
    samples : int
        Number of networks that are collected in the last quarter of each cycle.
    length : float
        Length of the chain in units of a run of SGD with its walk.
    temperature : float
        Temperature T.

    Attributes
    ----------
    collected : list of dict
        Weights and buffers of the collected networks.
    """

    momentum = 0.9
    noisy_share, collecting_share = 0.5, 0.75

    def __init__(
        self,
        schedule: Schedule,
        images: int,
        *,
        cycles: int,
        samples: int,
        length: float,
        temperature: float,
    ) -> None:
        super().__init__(schedule, images)
        epochs = length * (schedule.epochs + schedule.walk_epochs)
        self.cycles, self.samples, self.temperature = cycles, samples, temperature
        self.cycle = max(math.ceil(epochs * self.per_epoch / cycles), 4 * samples)
        self.collected: list[dict[str, Tensor]] = []

    @property
    def steps(self) -> int:
        """The number of steps of a run."""
        return self.cycle * self.cycles

    def begin(self, network: nn.Module) -> None:
        """Start with velocities of zero."""
        self.weights = [each for each in network.parameters() if each.requires_grad]
        self.velocities = [torch.zeros_like(each) for each in self.weights]

    def take_step(self, step: int, loss: Loss) -> None:
        """Take a step, numbered from zero."""
        progress = (step % self.cycle) / self.cycle
        rate = follow_cosine(self.schedule.learning_rate, progress)
        variance = 0.0
        if progress >= self.noisy_share:
            variance = 2 * (1 - self.momentum) * rate * self.temperature / self.images
        for weight in self.weights:
            weight.grad = None
        loss()
        with torch.no_grad():
            for weight, velocity in zip(self.weights, self.velocities, strict=True):
                gradient = self.schedule.weight_decay * weight
                gradient += 0 if weight.grad is None else weight.grad
                velocity.mul_(self.momentum).sub_(rate * gradient)
                if variance:
                    velocity.add_(torch.randn_like(velocity), alpha=math.sqrt(variance))
                weight.add_(velocity)

    def finish_step(self, step: int, network: nn.Module) -> None:
        """Collect networks at the end of a cycle."""
        last = self.cycle - 1 - step % self.cycle
        spacing = int(self.cycle * (1 - self.collecting_share)) // self.samples
        if last % spacing == 0 and last // spacing < self.samples:
            self.collected.append(copy_state(network))

    def state_dict(self) -> dict[str, Any]:
        """Return velocities and collected networks."""
        return {"velocities": self.velocities, "collected": self.collected}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state."""
        for own, saved in zip(self.velocities, state["velocities"], strict=True):
            own.copy_(saved)
        self.collected = list(state["collected"])
