"""What a posterior of a deep network is built from: training runs, data and random numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
import torch
from torch import Tensor, nn

from onlinefa.estimators.base import FactorEstimator, FitDiverged
from onlinefa.torch import WeightPosterior
from onlinefa_benchmark.deep.data import ImageParts
from onlinefa_benchmark.deep.recipes import Recipe, Schedule, SGDTrajectory
from onlinefa_benchmark.deep.training import RunResult
from onlinefa_benchmark.randomness import Role

__all__ = ["DeepTask", "name_observer"]

BATCH = 250
"""Images of a batch in evaluation mode."""


def name_observer(estimator: FactorEstimator) -> str:
    """Return the name of an estimator that observes a run: its class and all its parameters."""
    values = ", ".join(f"{key}={value}" for key, value in sorted(estimator.get_params().items()))
    return f"{type(estimator).__name__}({values})"


@dataclass(eq=False)
class DeepTask:
    """The training runs of a seed, and the data, as one posterior uses them.

    Parameters
    ----------
    data : ImageParts
        Images.
    make_network : callable
        Create a network, given the probability of dropout.
    schedule : Schedule
        Lengths and rates of training.
    K : int
        Number of factors.
    samples : int
        Number of networks that are drawn from a posterior.
    recollection : int
        Number of training images from which statistics of batch normalisation are collected.
    get_run : callable
        Return the finished run of a number.
    train : callable
        Return the finished run of a recipe, given the name of the run.
    random : callable
        Return the generator of a role.
    estimator_seed : int
        Seed of the estimators that observe runs.
    device : str
        Device of networks.

    Attributes
    ----------
    seconds : float
        Time of all training that the posterior depends on.
    training_seconds : float
        Time that `train_with` took.
    """

    data: ImageParts
    make_network: Callable[[float], nn.Module]
    schedule: Schedule
    K: int
    samples: int
    recollection: int
    get_run: Callable[[int], RunResult]
    train: Callable[[str, Recipe], RunResult]
    random: Callable[[Role], np.random.Generator]
    estimator_seed: int
    device: str = "cpu"
    seconds: float = 0.0
    training_seconds: float = 0.0
    _counted: set[tuple[str, str]] = field(default_factory=set)

    def _count(self, run: str, times: Mapping[str, float], *parts: str) -> None:
        """Add the time of some parts of a run, each once."""
        for part in parts:
            if (run, part) not in self._counted:
                self._counted.add((run, part))
                self.seconds += times.get(part, 0.0)

    def mode(self, number: int = 0) -> nn.Module:
        """Return the trained network of a run, in evaluation mode."""
        run = self.get_run(number)
        self._count(str(number), run.seconds, "training")
        assert isinstance(run.recipe, SGDTrajectory)
        return self.load(run.recipe.mode)

    def walk(self, number: int, estimator: FactorEstimator) -> WeightPosterior:
        """Return the posterior that an estimator has learned from the walk of a run.

        Raises
        ------
        FitDiverged
            If the fit has diverged.
        """
        run, name = self.get_run(number), name_observer(estimator)
        self._count(str(number), run.seconds, "training", "walk", name)
        if name in run.failures:
            raise FitDiverged(run.failures[name])
        posterior, warm_up = run.posteriors[name], getattr(estimator, "warm_up", 0)
        if posterior.updates <= warm_up:
            raise FitDiverged(
                f"the walk has {posterior.updates} observations, and warm_up is {warm_up}"
            )
        return posterior

    def train_with(self, name: str, recipe: Recipe) -> RunResult:
        """Return the finished run of a recipe that only one algorithm has."""
        start = perf_counter()
        run = self.train(name, recipe)
        self.training_seconds += perf_counter() - start
        self._count(name, run.seconds, "training", "walk")
        return run

    def load(self, state: Mapping[str, Tensor], dropout: float = 0.0) -> nn.Module:
        """Return a network with given weights, in evaluation mode."""
        network = self.make_network(dropout)
        network.load_state_dict(state)
        return network.to(self.device).eval()

    def training_batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield all training images and labels, which are not augmented."""
        yield from self._to_device(self.data.batches(self.data.training, BATCH))

    def validation_batches(self, number: int) -> list[tuple[Tensor, Tensor]]:
        """Return the first validation images and their labels."""
        part = self.data.validation.take(number)
        return list(self._to_device(self.data.batches(part, BATCH)))

    def recollection_batches(self) -> list[Tensor]:
        """Return training images for the statistics of batch normalisation."""
        part = self.data.training.take(self.recollection)
        return [inputs for inputs, _ in self._to_device(self.data.batches(part, BATCH))]

    def _to_device(
        self, batches: Iterator[tuple[Tensor, Tensor]]
    ) -> Iterator[tuple[Tensor, Tensor]]:
        for inputs, labels in batches:
            yield inputs.to(self.device), labels.to(self.device)

    def draw_seed(self) -> int:
        """Return the seed of a posterior's own random numbers, the same for all algorithms."""
        return int(self.random("sampling").integers(2**31))


def count_bytes(network: nn.Module, vectors: int, components: int = 1) -> int:
    """Return the number of bytes that predictions need.

    Parameters
    ----------
    network : torch.nn.Module
        The network; weights that are not trained are needed once.
    vectors : int
        Vectors of all trained weights that a component has: one for a network, K + 2 for a mean,
        K factors and a diagonal.
    components : int, default=1
        Number of components of a mixture. Each has buffers of its own.
    """
    trained = [each for each in network.parameters() if each.requires_grad]
    frozen = [each for each in network.parameters() if not each.requires_grad]
    of_component = vectors * _add_sizes(trained) + _add_sizes(network.buffers())
    return _add_sizes(frozen) + components * of_component


def _add_sizes(tensors: Iterable[Tensor]) -> int:
    return sum(each.numel() * each.element_size() for each in tensors)


def average_probabilities(outputs: Iterator[Tensor]) -> Tensor:
    """Return the mean of the class probabilities of networks, given their logits."""
    parts = [torch.softmax(logits.float(), dim=1) for logits in outputs]
    return torch.stack(parts).mean(dim=0)
