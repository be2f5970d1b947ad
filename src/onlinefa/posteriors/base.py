"""What a posterior over a network's functions is asked, and what it answers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from onlinefa.gaussian import Array
from onlinefa.models.covariance import Covariance
from onlinefa.models.gaussian_process import GaussianProcess
from onlinefa.models.network import NetworkPosterior
from onlinefa.randomness import Role

_MOST_KEPT = 2**26  # numbers of a walk: half a gigabyte


class Functions(Protocol):
    """What is known of the function at some inputs: a distribution for each."""

    @property
    def mean(self) -> Array: ...

    @property
    def sd(self) -> Array: ...

    @property
    def diagnostics(self) -> Mapping[str, float]:
        """What the posterior has to say of itself."""

    @property
    def doubt(self) -> str:
        """Why all this is not to be trusted; empty if it is."""

    def log_density(self, y: Array, noise: float) -> Array:
        """Of targets, each the function plus noise of a variance."""


@dataclass(frozen=True, eq=False)
class GaussianFunctions:
    """A Gaussian at each input."""

    mean: Array
    sd: Array
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    doubt: str = ""

    def log_density(self, y: Array, noise: float) -> Array:
        variance = self.sd**2 + noise
        return -((y - self.mean) ** 2 / variance + np.log(2 * np.pi * variance)) / 2


@dataclass(frozen=True, eq=False)
class SampledFunctions:
    """S equally likely functions: `values` of shape (S, inputs)."""

    values: Array
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    doubt: str = ""

    @property
    def mean(self) -> Array:
        return self.values.mean(axis=0)

    @property
    def sd(self) -> Array:
        return self.values.std(axis=0)

    def log_density(self, y: Array, noise: float) -> Array:
        """Of the Bayesian model average: a mixture of S Gaussians."""
        from scipy.special import logsumexp

        each = -((y - self.values) ** 2 / noise + np.log(2 * np.pi * noise)) / 2
        return logsumexp(each, axis=0) - np.log(len(self.values))


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
class Task:
    """A table, a network for it, and the inputs at which its functions are asked for."""

    network: NetworkPosterior
    process: GaussianProcess
    """The limit of wide networks, which has the same prior and noise."""
    inputs: Array
    training: Training
    samples: int
    process_with: Callable[[type[Covariance]], GaussianProcess]
    """The most likely process with another covariance."""
    random: Callable[[Role], np.random.Generator]
    """The seed's random numbers, the same for every algorithm."""
    known_modes: dict[int, Array] = field(default_factory=dict)
    """By iterations: what tasks with the same network share."""

    def modes(self, number: int) -> Array:
        """Maxima of the posterior, of shape (number, D), from starts that the prior draws."""
        others = [self._maximise(start) for start in self._starts(number)[1:]]
        return np.array([self.mode, *others])

    @property
    def mode(self) -> Array:
        """The first of the maxima, which all who start from one share."""
        iterations = self.training.iterations
        if iterations not in self.known_modes:
            self.known_modes[iterations] = self._maximise(self._starts(1)[0])
        return self.known_modes[iterations]

    def _starts(self, number: int) -> Array:
        return self.random("weights").standard_normal((number, self.network.dimension))

    def _maximise(self, start: Array) -> Array:
        return self.network.maximise(start, self.training.iterations)

    def walk(self) -> Iterable[Array]:
        """Weights along SGD from the mode, after the warm-up: arrays of shape (rows, D).

        That of a wide network does not fit into memory, and is walked anew, in the same steps,
        whenever it is asked for.
        """
        training = self.training
        rows = training.epochs * (len(self.network.y) // training.batch) / training.every
        return self._kept_walk if rows * self.network.dimension <= _MOST_KEPT else self._steps()

    @cached_property
    def _kept_walk(self) -> list[Array]:
        return list(self._steps())

    def _steps(self) -> Iterator[Array]:
        training, passed = self.training, 0
        rate = training.learning_rate * 2 / self.network.curvature(self.mode)
        epochs = self.network.walk(
            self.mode, rate, training.batch, training.epochs, self.random("data")
        )
        for epoch, weights in enumerate(epochs):
            if epoch >= training.warm_up:
                # A copy, or what is left out would be kept as well.
                kept = weights[-(passed + 1) % training.every :: training.every].copy()
                passed += len(weights)
                if len(kept):
                    yield kept


class Posterior(BaseEstimator):
    """Base of all posteriors. Settings are keyword-only, with plain values as defaults."""

    needs: ClassVar[str | None] = None
    """A package that is not installed with this one."""

    trained: ClassVar[bool] = True
    """Whether it starts from the mode. Finding that is not among the seconds that it takes. A file
    says so itself, since it is read without what it inherits from."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    @abstractmethod
    def functions(self, task: Task) -> Functions:
        """The posterior over functions at the task's inputs."""

    def truth(self, task: Task) -> GaussianProcess:
        """The process that it is compared with."""
        return task.process
