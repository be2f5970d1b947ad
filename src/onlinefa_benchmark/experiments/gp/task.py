"""The task of a posterior in chapter 7: networks at exact modes, and the process of wide ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.models.covariance import Covariance
from onlinefa_benchmark.models.gaussian_process import GaussianProcess
from onlinefa_benchmark.models.mode_search import Mode, find_mode
from onlinefa_benchmark.posteriors.base import Task

_MOST_KEPT = 2**26  # numbers of a walk that are kept in memory: half a gigabyte


@dataclass(frozen=True)
class GPTraining:
    """Parameters of training and of SGD's walk; a cell sets those that its posterior depends on.

    Parameters
    ----------
    iterations : int
        Largest number of iterations of the search for a mode.
    learning_rate : float
        Learning rate of SGD, as a fraction of the rate at which descent with all rows is unstable.
    batch : int
        Rows in a step of SGD.
    warm_up : int
        Epochs before the first weights are observed.
    epochs : int
        Epochs of the walk, including the warm-up.
    every : int
        Steps of SGD between two observations of the weights.
    """

    iterations: int = 0
    learning_rate: float = 0.0
    batch: int = 1
    warm_up: int = 0
    epochs: int = 0
    every: int = 1


@dataclass(frozen=True, eq=False)
class GPTask(Task):
    """A task whose modes are searched for, and whose limit of wide networks is known.

    Parameters
    ----------
    training : GPTraining
        How networks are trained.
    limit : GaussianProcess
        The limit of wide networks.
    other_limit : callable
        Return the most likely process with another covariance.
    known_modes : dict
        Modes by iterations and number, shared by tasks with the same network.
    """

    training: GPTraining
    limit: GaussianProcess
    other_limit: Callable[[type[Covariance]], GaussianProcess]
    known_modes: dict[tuple[int, int], Mode] = field(default_factory=dict)

    @property
    def process(self) -> GaussianProcess:
        """The limit of wide networks."""
        return self.limit

    def process_with(self, covariance: type[Covariance]) -> GaussianProcess:
        """Return the most likely process with another covariance."""
        return self.other_limit(covariance)

    @property
    def batch(self) -> int:
        """Rows in a step of SGD."""
        return self.training.batch

    def modes(self, number: int) -> Array:
        """Return maxima of the posterior, from starts drawn from the prior.

        Raises
        ------
        ModeNotReached
            If a search ends before the gradient is small.
        """
        found = self._searched(number)
        for mode in found:
            mode.check()
        return np.array([mode.theta for mode in found])

    @property
    def mode_gradient(self) -> float:
        """The norm of the gradient at the first mode, or where its search has ended."""
        return self._searched(1)[0].gradient_norm

    def _searched(self, number: int) -> list[Mode]:
        iterations = self.training.iterations
        starts = self.random("weights").standard_normal((number, self.network.dimension))
        for i, start in enumerate(starts):
            if (iterations, i) not in self.known_modes:
                self.known_modes[iterations, i] = find_mode(self.network, start, iterations)
        return [self.known_modes[iterations, i] for i in range(number)]

    @property
    def gradients(self) -> int:
        """The number of gradients of the whole table that are as costly as SGD's walk."""
        return self.training.epochs

    def walk(self, run: int = 0) -> Iterable[Array]:
        """Return the walk after the warm-up.

        The walk of a wide network does not fit into memory, and is repeated, in the same steps,
        whenever it is needed.
        """
        training = self.training
        rows = training.epochs * (len(self.network.y) // training.batch) / training.every
        is_kept = run == 0 and rows * self.network.dimension <= _MOST_KEPT
        return self._kept_walk if is_kept else self.steps(run)

    @cached_property
    def _kept_walk(self) -> list[Array]:
        return list(self.steps(0))

    def steps(self, run: int) -> Iterator[Array]:
        """Walk, and yield the observed weights of each epoch."""
        training, passed = self.training, 0
        start = self.modes(run + 1)[run]
        rate = training.learning_rate * 2 / self.network.curvature(start)
        random = self.random("data")
        random = random.spawn(run)[-1] if run else random
        epochs = self.network.walk(start, rate, training.batch, training.epochs, random)
        for epoch, weights in enumerate(epochs):
            if epoch >= training.warm_up:
                # A copy, because a view would keep the steps between in memory as well.
                kept = weights[-(passed + 1) % training.every :: training.every].copy()
                passed += len(weights)
                if len(kept):
                    yield kept
