"""Predictions of fixed and drawn networks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from onlinefa.torch import MultiPosterior, WeightPosterior
from onlinefa.torch.posterior import Posterior as LibraryPosterior
from onlinefa_benchmark.deep.seeds import set_seed
from onlinefa_benchmark.deep.task import DeepTask, average_probabilities, count_bytes

__all__ = [
    "DrawnNetworks",
    "DroppedNetworks",
    "FixedNetworks",
    "OptimiserNetworks",
    "mix_walks",
]


@dataclass(frozen=True, eq=False)
class FixedNetworks:
    """Equally likely networks.

    Parameters
    ----------
    members : sequence of torch.nn.Module
        The networks, in evaluation mode.
    """

    members: Sequence[nn.Module]

    @property
    def networks(self) -> int:
        """The number of networks."""
        return len(self.members)

    @property
    def size(self) -> int:
        """The number of bytes that predictions need."""
        return count_bytes(self.members[0], 1, len(self.members))

    def predict(self, inputs: Sequence[Tensor]) -> Tensor:
        """Return class probabilities, of shape (N, C), for batches of images."""
        return average_probabilities(evaluate(member, inputs) for member in self.members)


def evaluate(network: nn.Module, inputs: Sequence[Tensor]) -> Tensor:
    """Return the logits of a network for batches of images."""
    with torch.no_grad():
        return torch.cat([network(batch) for batch in inputs])


@dataclass(frozen=True, eq=False)
class DrawnNetworks:
    """Networks that are drawn from a posterior of the library.

    Parameters
    ----------
    posterior : onlinefa.torch.posterior.Posterior
        The posterior.
    task : DeepTask
        Number of networks, seed, and images for batch normalisation.
    size : int
        The number of bytes that predictions need.
    """

    posterior: LibraryPosterior
    task: DeepTask
    size: int

    @property
    def networks(self) -> int:
        """The number of networks that are drawn."""
        return self.task.samples

    def predict(self, inputs: Sequence[Tensor]) -> Tensor:
        """Return class probabilities, of shape (N, C), for batches of images."""
        return self.posterior.predict_proba(
            list(inputs),
            self.task.samples,
            self.task.draw_seed(),
            batches=self.task.recollection_batches(),
        )


def mix_walks(posteriors: Sequence[WeightPosterior], task: DeepTask) -> DrawnNetworks:
    """Return the predictions of a mixture of Gaussians, one for each run."""
    first = posteriors[0]
    size = count_bytes(first.model, first.gaussian().rank + 2, len(posteriors))
    return DrawnNetworks(first if len(posteriors) == 1 else MultiPosterior(posteriors), task, size)


@dataclass(frozen=True, eq=False)
class DroppedNetworks:
    """Networks that differ in the units that are dropped.

    Parameters
    ----------
    network : torch.nn.Module
        The network, in evaluation mode.
    task : DeepTask
        Number of networks, and seed.
    """

    network: nn.Module
    task: DeepTask

    @property
    def networks(self) -> int:
        """The number of networks that are drawn."""
        return self.task.samples

    @property
    def size(self) -> int:
        """The number of bytes that predictions need."""
        return count_bytes(self.network, 1)

    def predict(self, inputs: Sequence[Tensor]) -> Tensor:
        """Return class probabilities, of shape (N, C), for batches of images."""
        return average_probabilities(self._draw(inputs))

    def _draw(self, inputs: Sequence[Tensor]) -> Iterator[Tensor]:
        for module in self.network.modules():
            if isinstance(module, nn.Dropout):
                module.train()
        set_seed(self.task.draw_seed(), self.task.device)
        for _ in range(self.task.samples):
            yield evaluate(self.network, inputs)


@dataclass(frozen=True, eq=False)
class OptimiserNetworks:
    """Networks that are drawn from a Gaussian that IVON has learned.

    Parameters
    ----------
    network : torch.nn.Module
        The network, in evaluation mode, with the means as its weights.
    optimiser : ivon.IVON
        The optimiser, with the variances.
    task : DeepTask
        Number of networks, and seed.
    """

    network: nn.Module
    optimiser: Any
    task: DeepTask

    @property
    def networks(self) -> int:
        """The number of networks that are drawn."""
        return self.task.samples

    @property
    def size(self) -> int:
        """The number of bytes that predictions need."""
        return count_bytes(self.network, 2)  # means and variances

    def predict(self, inputs: Sequence[Tensor]) -> Tensor:
        """Return class probabilities, of shape (N, C), for batches of images."""
        return average_probabilities(self._draw(inputs))

    def _draw(self, inputs: Sequence[Tensor]) -> Iterator[Tensor]:
        set_seed(self.task.draw_seed(), self.task.device)
        for _ in range(self.task.samples):
            with self.optimiser.sampled_params():
                yield evaluate(self.network, inputs)
