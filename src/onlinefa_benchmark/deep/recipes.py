"""Recipes of training: what happens in one step, and what is observed along the way.

A recipe owns the optimiser. Learning rates are functions of the step, so that the number of steps
and the state of the optimiser are all that a run needs to be resumed.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["Descent", "Recipe", "SGDTrajectory", "Schedule"]

Loss = Callable[[], Tensor]
"""Compute the loss of a batch and its gradients, and return it."""


@dataclass(frozen=True)
class Schedule:
    """Lengths and rates of training.

    Parameters
    ----------
    epochs : int
        Epochs from random weights to a mode. The learning rate falls to zero along a cosine.
    walk_epochs : int
        Epochs of SGD with a constant rate after that.
    batch : int
        Images in a step.
    learning_rate : float
        First learning rate.
    walk_rate : float
        Learning rate of the walk.
    weight_decay : float
        Factor of half of the squared norm of all weights in the loss, which is a mean over images.
    every : int
        Steps between two updates of the posteriors.
    """

    epochs: int
    walk_epochs: int
    batch: int
    learning_rate: float
    walk_rate: float
    weight_decay: float
    every: int


class Recipe(ABC):
    """Base class of recipes.

    Parameters
    ----------
    schedule : Schedule
        Lengths and rates.
    images : int
        Number of training images.
    """

    dropout: float = 0.0

    def __init__(self, schedule: Schedule, images: int) -> None:
        self.schedule = schedule
        self.images = images
        self.per_epoch = max(1, images // schedule.batch)

    @property
    @abstractmethod
    def steps(self) -> int:
        """The number of steps of a run."""

    @property
    def descent_steps(self) -> int:
        """The number of steps to a mode; the others are a walk."""
        return self.steps

    @abstractmethod
    def begin(self, network: nn.Module) -> None:
        """Create the optimiser of a network."""

    @abstractmethod
    def take_step(self, step: int, loss: Loss) -> None:
        """Take a step, numbered from zero."""

    def is_observed(self, step: int) -> bool:
        """Return whether posteriors learn from the weights after this step."""
        return False

    def finish_step(self, step: int, network: nn.Module) -> None:  # noqa: B027
        """Keep what the result of the run needs from the weights after this step."""

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """Return the state from which a run is resumed, and which its result consists of."""

    @abstractmethod
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state."""


def follow_cosine(rate: float, progress: float) -> float:
    """Return the learning rate after a share of a descent that ends with a rate of zero."""
    return rate * (1 + math.cos(math.pi * progress)) / 2


def copy_state(network: nn.Module) -> dict[str, Tensor]:
    """Return a copy of a network's weights and buffers."""
    return {name: value.detach().clone() for name, value in network.state_dict().items()}


class Descent(Recipe):
    """SGD with momentum and a learning rate that falls to zero: the way to a mode.

    Parameters
    ----------
    schedule, images
        As in `Recipe`.
    dropout : float, default=0.0
        Probability of dropout.
    """

    momentum = 0.9

    def __init__(self, schedule: Schedule, images: int, dropout: float = 0.0) -> None:
        super().__init__(schedule, images)
        self.dropout = dropout

    @property
    def steps(self) -> int:
        """The number of steps of a run."""
        return self.schedule.epochs * self.per_epoch

    def begin(self, network: nn.Module) -> None:
        """Create the optimiser of a network."""
        self.optimiser = torch.optim.SGD(
            [each for each in network.parameters() if each.requires_grad],
            lr=self.schedule.learning_rate,
            momentum=self.momentum,
            weight_decay=self.schedule.weight_decay,
        )

    def rate(self, step: int) -> float:
        """Return the learning rate of a step."""
        return follow_cosine(self.schedule.learning_rate, step / self.descent_steps)

    def take_step(self, step: int, loss: Loss) -> None:
        """Take a step, numbered from zero."""
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate(step)
        self.optimiser.zero_grad()
        loss()
        self.optimiser.step()

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the optimiser."""
        return {"optimiser": self.optimiser.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state."""
        self.optimiser.load_state_dict(state["optimiser"])


class SGDTrajectory(Descent):
    """A descent to a mode, and then a walk of SGD with a constant rate that posteriors observe."""

    def __init__(self, schedule: Schedule, images: int) -> None:
        super().__init__(schedule, images)
        self.mode: dict[str, Tensor] = {}

    @property
    def descent_steps(self) -> int:
        """The number of steps to a mode; the others are a walk."""
        return super().steps

    @property
    def steps(self) -> int:
        """The number of steps of descent and walk."""
        return (self.schedule.epochs + self.schedule.walk_epochs) * self.per_epoch

    def rate(self, step: int) -> float:
        """Return the learning rate of a step."""
        return super().rate(step) if step < self.descent_steps else self.schedule.walk_rate

    def is_observed(self, step: int) -> bool:
        """Return whether posteriors learn from the weights after this step."""
        walked = step + 1 - self.descent_steps
        return walked > 0 and walked % self.schedule.every == 0

    def finish_step(self, step: int, network: nn.Module) -> None:
        """Keep the mode."""
        if step + 1 == self.descent_steps:
            self.mode = copy_state(network)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the optimiser and the mode."""
        return {**super().state_dict(), "mode": self.mode}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state."""
        super().load_state_dict(state)
        self.mode = state["mode"]
