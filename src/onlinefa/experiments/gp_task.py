"""What a posterior is asked in chapter 7: networks at exact modes, and the process of wide ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from onlinefa.gaussian import Array
from onlinefa.models.covariance import Covariance
from onlinefa.models.gaussian_process import GaussianProcess
from onlinefa.posteriors.base import Task

_MOST_KEPT = 2**26  # numbers of a walk: half a gigabyte


@dataclass(frozen=True)
class Training:
    """How networks are trained, and walked over; a cell is told what its posterior needs of it."""

    iterations: int = 0
    """Of L-BFGS, to a maximum of the posterior."""
    learning_rate: float = 0.0
    """Of SGD, as a share of the rate from which on descent with all rows is unstable there."""
    batch: int = 1
    warm_up: int = 0
    """Epochs before the first weights are observed."""
    epochs: int = 0
    every: int = 1
    """Steps of SGD between two observations of the weights."""


@dataclass(frozen=True, eq=False)
class GPTask(Task):
    """Modes are found by L-BFGS, and the limit of wide networks is known."""

    training: Training
    limit: GaussianProcess
    other_limit: Callable[[type[Covariance]], GaussianProcess]
    known_modes: dict[tuple[int, int], Array] = field(default_factory=dict)
    """By iterations and number: what tasks with the same network share."""

    @property
    def process(self) -> GaussianProcess:
        return self.limit

    def process_with(self, covariance: type[Covariance]) -> GaussianProcess:
        return self.other_limit(covariance)

    @property
    def batch(self) -> int:
        return self.training.batch

    def modes(self, number: int) -> Array:
        starts = self.random("weights").standard_normal((number, self.network.dimension))
        return np.array([self._mode(i, start) for i, start in enumerate(starts)])

    def _mode(self, number: int, start: Array) -> Array:
        iterations = self.training.iterations
        if (iterations, number) not in self.known_modes:
            found = self.network.maximise(start, iterations)
            self.known_modes[iterations, number] = found
        return self.known_modes[iterations, number]

    def walk(self, run: int = 0) -> Iterable[Array]:
        """After the warm-up. The walk of a wide network does not fit into memory, and is walked
        anew, in the same steps, whenever it is asked for."""
        training = self.training
        rows = training.epochs * (len(self.network.y) // training.batch) / training.every
        kept = run == 0 and rows * self.network.dimension <= _MOST_KEPT
        return self._kept_walk if kept else self.steps(run)

    @cached_property
    def _kept_walk(self) -> list[Array]:
        return list(self.steps(0))

    def steps(self, run: int) -> Iterator[Array]:
        """The walk, while it is walked."""
        training, passed = self.training, 0
        start = self.modes(run + 1)[run]
        rate = training.learning_rate * 2 / self.network.curvature(start)
        random = self.random("data")
        random = random.spawn(run)[-1] if run else random
        epochs = self.network.walk(start, rate, training.batch, training.epochs, random)
        for epoch, weights in enumerate(epochs):
            if epoch >= training.warm_up:
                # A copy, or what is left out would be kept as well.
                kept = weights[-(passed + 1) % training.every :: training.every].copy()
                passed += len(weights)
                if len(kept):
                    yield kept
