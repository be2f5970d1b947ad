"""Networks that are trained with Adam, with hyperparameters chosen on a validation part.

A candidate is a learning rate of SGD, a precision of the prior and a variance of the noise.
Candidates are drawn from the seed and are the same for all algorithms. For each algorithm the
candidate with the best predictions of the validation part is selected, and the algorithm is then
fitted to all training rows. The networks of all candidates are trained together, and all algorithms
share them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from onlinefa.walks.errors import WalkDiverged
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.models.covariance import NeuralNetwork
from onlinefa_benchmark.models.likelihoods import Gaussian, Likelihood
from onlinefa_benchmark.models.network import NetworkPosterior
from onlinefa_benchmark.models.training import Networks
from onlinefa_benchmark.posteriors.base import Task
from onlinefa_benchmark.randomness import Role

if TYPE_CHECKING:
    from onlinefa_benchmark.context import Progress

# Ranges from which candidates are drawn, all on a logarithmic scale.
# The learning rate as a fraction of the rate at which descent with all rows becomes unstable: at
# half of that rate the walk is still narrow, and slightly above it the walk diverges.
_SHARES = (0.15, 1.0)
PRECISIONS = (0.1, 3.0)  # of the prior, for standardised targets
_NOISES = (0.3, 1.5)  # as a fraction of the squared error of a first network on the validation part
_FIRST_NOISE = 0.1  # noise variance of that first network
_LEAST_NOISE = 1e-4
_ROWS_FOR_CURVATURE = 200


@dataclass(frozen=True)
class NetworkTraining:
    """Parameters of the training of networks, and of the walk of SGD from the trained weights.

    Parameters
    ----------
    width : int
        Number of hidden units.
    candidates : int
        Number of candidates.
    runs : int
        Number of independent runs of each candidate.
    batch : int
        Rows in a step.
    steps : int
        Steps of Adam to a mode.
    learning_rate : float
        Learning rate of Adam.
    walk : int
        Steps of SGD from the mode.
    every : int
        Steps of SGD between two observations of the weights.
    """

    width: int
    candidates: int
    runs: int
    batch: int
    steps: int
    learning_rate: float
    walk: int
    every: int


@dataclass(frozen=True)
class Candidate:
    """Hyperparameters.

    Parameters
    ----------
    share : float
        Learning rate of SGD as a fraction of the rate at which descent with all rows becomes
        unstable.
    precision : float
        Precision of the prior: all weights that lead to a unit have the total variance
        1 / precision.
    noise : float
        Variance of the noise, in units of the targets' variance. It is not used for classes.
    """

    share: float
    precision: float
    noise: float

    def prior(self, inputs: int) -> NeuralNetwork:
        """Return the prior of a network with a number of inputs."""
        sd = 1 / sqrt(self.precision)
        return NeuralNetwork(sd / sqrt(inputs), sd, sd)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a table.

    Parameters
    ----------
    X : array of shape (N, p)
        Inputs, with a constant one as their last column.
    y : array of shape (N,)
        Targets.
    """

    X: Array
    y: Array


@dataclass(frozen=True, eq=False)
class TrainedNetworks:
    """The networks of all candidates and runs, trained on one table.

    Parameters
    ----------
    table : Rows
        Training rows.
    candidates : list of Candidate
        Hyperparameters of each network.
    training : NetworkTraining
        How networks are trained.
    random : callable
        Return the generator of a role.
    likelihood : callable
        Return the likelihood, given the variance of the noise.
    device : str
        Device on which networks are trained.
    progress : Progress, optional
        Reports the progress of training.
    """

    table: Rows
    candidates: list[Candidate]
    training: NetworkTraining
    random: Callable[[Role], np.random.Generator]
    likelihood: Callable[[float], Likelihood]
    device: str
    progress: Progress | None = None

    @cached_property
    def networks(self) -> Networks:
        """The posteriors of all candidates."""
        return Networks([self._network(candidate) for candidate in self.candidates])

    def _network(self, candidate: Candidate) -> NetworkPosterior:
        X, y = self.table.X, self.table.y
        return NetworkPosterior(
            X,
            y,
            candidate.prior(X.shape[1]),
            self.likelihood(candidate.noise),
            self.training.width,
            self.device,
            self.progress,
        )

    @cached_property
    def modes(self) -> Array:
        """Maxima of the posteriors, of shape (candidates, runs, D).

        A run has the same initial weights for all candidates, in units of their priors.
        """
        training, D = self.training, self.networks.first.dimension
        starts = self.random("weights").standard_normal((training.runs, D))
        starts = np.broadcast_to(starts, (len(self.candidates), training.runs, D))
        return self.networks.train(
            starts, training.learning_rate, training.steps, training.batch, self.random("data")
        )

    @cached_property
    def walks(self) -> NDArray[np.float32]:
        """Weights along SGD from the modes, of shape (candidates, runs, observations, D)."""
        training = self.training
        critical = [
            2 / member.curvature(modes[0], self.table.X[:_ROWS_FOR_CURVATURE])
            for member, modes in zip(self.networks.members, self.modes, strict=True)
        ]
        rates = np.array([candidate.share for candidate in self.candidates]) * critical
        random = self.random("data").spawn(1)[0]
        return self.networks.walk(
            self.modes, rates, training.walk, training.every, training.batch, random
        )


@dataclass(frozen=True, eq=False)
class NetworkTask(Task):
    """The task of a posterior with the networks of one candidate.

    Parameters
    ----------
    trainings : TrainedNetworks
        The networks of all candidates.
    number : int
        Number of the candidate.
    """

    trainings: TrainedNetworks
    number: int

    @property
    def candidate(self) -> Candidate:
        """The hyperparameters."""
        return self.trainings.candidates[self.number]

    @property
    def batch(self) -> int:
        """Rows in a step of SGD."""
        return self.trainings.training.batch

    @property
    def gradients(self) -> int:
        """The number of gradients of the whole table that are as costly as SGD's walk."""
        return -(-self.trainings.training.walk * self.batch // len(self.network.y))

    def modes(self, number: int) -> Array:
        """Return the modes of the first `number` runs, of shape (number, D).

        Raises
        ------
        ValueError
            If fewer networks were trained.
        """
        runs = self.trainings.training.runs
        if number > runs:
            raise ValueError(f"{number} networks are required, but runs is {runs}")
        return self.trainings.modes[self.number, :number]

    def walk(self, run: int = 0) -> Iterable[Array]:
        """Return the weights along SGD of a run.

        Raises
        ------
        WalkDiverged
            If a weight is not finite.
        """
        self.modes(run + 1)  # raises an error if there are fewer runs
        rows = self.trainings.walks[self.number, run]
        if not np.isfinite(rows).all():
            raise WalkDiverged(f"SGD with {self.candidate.share:.2g} of the critical rate diverges")
        return [rows.astype(float)]


def draw_candidates(
    learned: Rows,
    validation: Rows,
    training: NetworkTraining,
    random: Callable[[Role], np.random.Generator],
    likelihood: Callable[[float], Likelihood],
    device: str,
    precisions: tuple[float, float] = PRECISIONS,
    progress: Progress | None = None,
) -> list[Candidate]:
    """Draw candidates by Latin hypercube sampling: one in each of equal slices of every range.

    The scale of the noise is not known beforehand. Therefore a first network is trained with the
    prior of each candidate, and the candidate's noise is drawn as a multiple of that network's
    squared error on the validation part.

    Parameters
    ----------
    learned : Rows
        Training rows.
    validation : Rows
        Validation rows.
    training : NetworkTraining
        How networks are trained.
    random : callable
        Return the generator of a role.
    likelihood : callable
        Return the likelihood, given the variance of the noise.
    device : str
        Device on which networks are trained.
    precisions : tuple of float
        Range of the prior's precision.
    progress : Progress, optional
        Reports the progress of training.

    Returns
    -------
    list of Candidate
        The candidates, as many as `training.candidates`.
    """
    from scipy.stats.qmc import LatinHypercube

    places = LatinHypercube(3, rng=random("search")).random(training.candidates).T
    shares, drawn_precisions, factors = (
        np.exp(np.log(low) + place * np.log(high / low))
        for place, (low, high) in zip(places, (_SHARES, precisions, _NOISES), strict=True)
    )
    drawn = [
        Candidate(float(share), float(precision), _FIRST_NOISE)
        for share, precision in zip(shares, drawn_precisions, strict=True)
    ]
    one_run = replace(training, runs=1)
    first = TrainedNetworks(learned, drawn, one_run, random, likelihood, device, progress)
    if not isinstance(first.networks.first.likelihood, Gaussian):
        return drawn
    errors = [
        np.mean((member.functions(modes, validation.X) - validation.y) ** 2)
        for member, modes in zip(first.networks.members, first.modes, strict=True)
    ]
    return [
        replace(candidate, noise=float(max(error * factor, _LEAST_NOISE)))
        for candidate, error, factor in zip(drawn, errors, factors, strict=True)
    ]
