"""What a posterior over a network's functions is asked, and what it answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from onlinefa.gaussian import Array
from onlinefa.models.covariance import Covariance
from onlinefa.models.gaussian_process import GaussianProcess
from onlinefa.models.predictive import Mixture
from onlinefa.parameters import Parametrised
from onlinefa.randomness import Role

if TYPE_CHECKING:
    from onlinefa.models.network import NetworkPosterior


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

    @property
    def networks(self) -> int:
        """How many networks were drawn; none if the distribution is known in closed form."""

    def targets(self, noise: float) -> Mixture:
        """The function plus noise of a variance."""


@dataclass(frozen=True, eq=False)
class GaussianFunctions:
    """A Gaussian at each input."""

    mean: Array
    sd: Array
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    doubt: str = ""
    networks: ClassVar[int] = 0

    def targets(self, noise: float) -> Mixture:
        return Mixture(self.mean[None], np.sqrt(self.sd**2 + noise)[None])


@dataclass(frozen=True, eq=False)
class SampledFunctions:
    """S equally likely functions: `values` of shape (S, inputs), or (S, inputs, classes)."""

    values: Array
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    doubt: str = ""

    @property
    def networks(self) -> int:
        return len(self.values)

    @property
    def mean(self) -> Array:
        return self.values.mean(axis=0)

    @property
    def sd(self) -> Array:
        return self.values.std(axis=0)

    def targets(self, noise: float) -> Mixture:
        return Mixture(self.values, np.full((1, 1), np.sqrt(noise)))


@dataclass(frozen=True, eq=False)
class Task(ABC):
    """A table, a network for it, and the inputs at which its functions are asked for."""

    network: NetworkPosterior
    inputs: Array
    K: int
    """The latent dimension of what is fitted to a walk."""
    samples: int
    """Networks to draw from a posterior."""
    random: Callable[[Role], np.random.Generator]
    """The seed's random numbers, the same for every algorithm."""

    @property
    def mode(self) -> Array:
        """The first of the maxima, which all who start from one share."""
        mode: Array = self.modes(1)[0]
        return mode

    @abstractmethod
    def modes(self, number: int) -> Array:
        """Maxima of the posterior, of shape (number, D), from starts that the prior draws."""

    @abstractmethod
    def walk(self, run: int = 0) -> Iterable[Array]:
        """Weights along SGD from the mode of that number: arrays of shape (rows, D)."""

    @property
    @abstractmethod
    def batch(self) -> int:
        """Rows of the table in a step of SGD."""

    @property
    def process(self) -> GaussianProcess:
        """The limit of wide networks, which has the same prior and noise."""
        raise TypeError("these networks are not compared with a process")

    def process_with(self, covariance: type[Covariance]) -> GaussianProcess:
        """The most likely process with another covariance."""
        raise TypeError("these networks are not compared with a process")


class Posterior(Parametrised):
    """Base of all posteriors. Settings are keyword-only, with plain values as defaults."""

    needs: ClassVar[str | None] = None
    """A package that is not installed with this one."""

    trained: ClassVar[bool] = True
    """Whether it starts from the mode. Finding that is not among the seconds that it takes. A file
    says so itself, since it is read without what it inherits from."""

    stochastic: ClassVar[bool] = False
    """Whether it follows SGD, or takes steps and draws of its own, and is told how it walks. Said
    in the file, too."""

    reference: ClassVar[bool] = False
    """Whether it is what others are held against, and no choice for a user; said in the file, too.
    """

    @abstractmethod
    def functions(self, task: Task) -> Functions:
        """The posterior over functions at the task's inputs."""

    def timed(self, task: Task) -> tuple[Functions, float]:
        """The same, and how many seconds it took without what others need as well."""
        if self.trained:
            _ = task.mode
        start = perf_counter()
        functions = self.functions(task)
        return functions, perf_counter() - start

    def prepare(self, tasks: Sequence[Task]) -> None:
        """Several networks of one table will be asked for: it may be faster to find all at once."""

    def truth(self, task: Task) -> GaussianProcess:
        """The process that it is compared with."""
        return task.process
