"""The interface of posteriors over a network's functions, of their tasks and of their results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.models.covariance import Covariance
from onlinefa_benchmark.models.gaussian_process import GaussianProcess
from onlinefa_benchmark.models.predictive import GaussianMixture
from onlinefa_benchmark.randomness import Role

if TYPE_CHECKING:
    from onlinefa_benchmark.models.network import NetworkPosterior


class Functions(Protocol):
    """The distribution of a function at several inputs."""

    @property
    def mean(self) -> Array:
        """The mean at each input."""

    @property
    def sd(self) -> Array:
        """The standard deviation at each input."""

    @property
    def diagnostics(self) -> Mapping[str, float]:
        """Diagnostics of the computation, by name."""

    @property
    def doubt(self) -> str:
        """Why the distribution is not reliable; empty if it is."""

    @property
    def networks(self) -> int:
        """The number of networks that were drawn; 0 if the distribution has a closed form."""

    def targets(self, noise: float) -> GaussianMixture:
        """Return the distribution of the function plus noise with this variance."""


@dataclass(frozen=True, eq=False)
class GaussianFunctions:
    """A Gaussian at each input.

    Parameters
    ----------
    mean : array of shape (N,)
        Means.
    sd : array of shape (N,)
        Standard deviations.
    diagnostics : mapping of str to float
        Diagnostics of the computation, by name.
    doubt : str
        Why the distribution is not reliable; empty if it is.
    """

    mean: Array
    sd: Array
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    doubt: str = ""
    networks: ClassVar[int] = 0

    def targets(self, noise: float) -> GaussianMixture:
        """Return the distribution of the function plus noise with this variance."""
        return GaussianMixture(self.mean[None], np.sqrt(self.sd**2 + noise)[None])


@dataclass(frozen=True, eq=False)
class MixedFunctions:
    """A mixture of R equally likely Gaussians at each input.

    Parameters
    ----------
    means : array of shape (R, N)
        Means of the components.
    sds : array of shape (R, N)
        Standard deviations of the components.
    diagnostics : mapping of str to float
        Diagnostics of the computation, by name.
    doubt : str
        Why the distribution is not reliable; empty if it is.
    """

    means: Array
    sds: Array
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    doubt: str = ""
    networks: ClassVar[int] = 0

    @property
    def mean(self) -> Array:
        """The mean at each input."""
        return self.means.mean(axis=0)

    @property
    def sd(self) -> Array:
        """The standard deviation at each input: within and between the components."""
        return np.sqrt(np.mean(self.sds**2, axis=0) + self.means.var(axis=0))

    def targets(self, noise: float) -> GaussianMixture:
        """Return the distribution of the function plus noise with this variance."""
        return GaussianMixture(self.means, np.sqrt(self.sds**2 + noise))


@dataclass(frozen=True, eq=False)
class SampledFunctions:
    """S equally likely functions.

    Parameters
    ----------
    values : array of shape (S, N), or (S, N, C) for C classes
        Values of each function at each input.
    diagnostics : mapping of str to float
        Diagnostics of the computation, by name.
    doubt : str
        Why the distribution is not reliable; empty if it is.
    """

    values: Array
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    doubt: str = ""

    @property
    def networks(self) -> int:
        """The number of networks that were drawn."""
        return len(self.values)

    @property
    def mean(self) -> Array:
        """The mean at each input."""
        return self.values.mean(axis=0)

    @property
    def sd(self) -> Array:
        """The standard deviation at each input."""
        return self.values.std(axis=0)

    def targets(self, noise: float) -> GaussianMixture:
        """Return the distribution of the function plus noise with this variance."""
        return GaussianMixture(self.values, np.full((1, 1), np.sqrt(noise)))


@dataclass(frozen=True, eq=False)
class Task(ABC):
    """A network with its training table, and the inputs at which its functions are predicted.

    Parameters
    ----------
    network : NetworkPosterior
        The network and its training table.
    inputs : array of shape (N, p)
        Inputs at which functions are predicted.
    K : int
        Number of factors of the Gaussians that are fitted to a walk.
    samples : int
        Number of networks that are drawn from a posterior.
    random : callable
        Return the generator of a role; it is the same for all algorithms of a seed.
    """

    network: NetworkPosterior
    inputs: Array
    K: int
    samples: int
    random: Callable[[Role], np.random.Generator]

    @property
    def mode(self) -> Array:
        """The first maximum of the posterior, which all algorithms share."""
        mode: Array = self.modes(1)[0]
        return mode

    @abstractmethod
    def modes(self, number: int) -> Array:
        """Return maxima of the posterior, of shape (number, D), found from draws of the prior."""

    @abstractmethod
    def walk(self, run: int = 0) -> Iterable[Array]:
        """Return the weights along SGD from mode number `run`: arrays of shape (rows, D)."""

    @property
    @abstractmethod
    def batch(self) -> int:
        """The number of rows in a step of SGD."""

    @property
    @abstractmethod
    def gradients(self) -> int:
        """The number of gradients of the whole table that are as costly as SGD's walk."""

    @property
    def process(self) -> GaussianProcess:
        """The limit of wide networks with the same prior and noise.

        Raises
        ------
        TypeError
            If the task has no such limit.
        """
        raise TypeError("these networks are not compared with a Gaussian process")

    def process_with(self, covariance: type[Covariance]) -> GaussianProcess:
        """Return the most likely Gaussian process with another covariance.

        Raises
        ------
        TypeError
            If the task is not compared with Gaussian processes.
        """
        raise TypeError("these networks are not compared with a Gaussian process")


class Posterior(BaseEstimator, ABC):
    """Base class of posteriors over a network's functions.

    Parameters of the constructor are keyword-only, and their defaults are plain values.

    Attributes
    ----------
    needs : str or None
        A package that the posterior imports and that is not installed with this one.
    trained : bool
        Whether the posterior starts from the mode. The time to find the mode is shared and not part
        of the posterior's own time.
    stochastic : bool
        Whether the posterior follows SGD or takes stochastic steps of its own, and therefore
        depends on the parameters of SGD.
    reference : bool
        Whether other posteriors are compared with this one, so that it is not ranked.
    on_gpu : bool
        Whether its networks can be evaluated on a GPU.
    one_output : bool
        Whether it is implemented for networks with one output only.
    """

    needs: ClassVar[str | None] = None
    trained: ClassVar[bool] = True
    stochastic: ClassVar[bool] = False
    reference: ClassVar[bool] = False
    on_gpu: ClassVar[bool] = True
    one_output: ClassVar[bool] = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    @abstractmethod
    def functions(self, task: Task) -> Functions:
        """Return the posterior over functions at the task's inputs."""

    def timed(self, task: Task) -> tuple[Functions, float]:
        """Compute the posterior over functions and measure the time.

        Parameters
        ----------
        task : Task
            The network and the inputs.

        Returns
        -------
        functions : Functions
            The posterior over functions at the task's inputs.
        seconds : float
            The time, without that of computations which several posteriors share.
        """
        if self.trained:
            _ = task.mode
        start = perf_counter()
        functions = self.functions(task)
        return functions, perf_counter() - start

    def prepare(self, tasks: Sequence[Task]) -> None:
        """Compute what can be computed faster for several tasks of one table together.

        The default does nothing.
        """

    def truth(self, task: Task) -> GaussianProcess:
        """Return the Gaussian process with which the posterior is compared."""
        return task.process
