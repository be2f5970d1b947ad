"""Networks trained as users do, with hyperparameters that a validation part decides between.

A candidate is a learning rate of SGD, a precision of the prior and one of the noise. All are drawn
from the seed, are the same for every algorithm, and are all tried: each algorithm takes the one
with which it predicts the validation part best, and is then trained anew on all that may be learned
from. The networks of all candidates are trained at once, and all algorithms share them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from onlinefa.gaussian import Array
from onlinefa.models.covariance import NeuralNetwork
from onlinefa.models.likelihoods import Gaussian, Likelihood
from onlinefa.models.network import NetworkPosterior
from onlinefa.models.sgd_walk import WalkDiverged
from onlinefa.models.training import Networks
from onlinefa.posteriors.base import Task
from onlinefa.randomness import Role

# From where to where candidates are drawn, all on a logarithmic scale.
# Of the learning rate from which on descent with all rows is unstable: at half of that the walk is
# narrow still, soon above it it diverges.
_SHARES = (0.15, 1.0)
PRECISIONS = (0.1, 3.0)  # of the prior, for targets that are standardised
_NOISES = (0.3, 1.5)  # of the error that a network makes on the validation part
_FIRST_NOISE = 0.1  # of the network that is asked for that error
_LEAST_NOISE = 1e-4
_ROWS_FOR_CURVATURE = 200


@dataclass(frozen=True)
class Training:
    """How networks are trained, and walked over."""

    width: int
    candidates: int
    runs: int
    batch: int
    steps: int
    """Of Adam, to a mode."""
    learning_rate: float
    """Of Adam."""
    walk: int
    """Steps of SGD from there."""
    every: int
    """Steps of SGD between two observations of the weights."""


@dataclass(frozen=True)
class Candidate:
    """Hyperparameters."""

    share: float
    """Of SGD's learning rate in that from which on descent with all rows is unstable."""
    precision: float
    """Of the prior: weights that lead to a unit have the variance 1 / precision together."""
    noise: float
    """Variance, in units of the targets' own. Classes have none."""

    def prior(self, inputs: int) -> NeuralNetwork:
        sd = 1 / sqrt(self.precision)
        return NeuralNetwork(sd / sqrt(inputs), sd, sd)


@dataclass(frozen=True, eq=False)
class Table:
    """Inputs, with a constant one as their last column, and targets."""

    X: Array
    y: Array


@dataclass(frozen=True, eq=False)
class Trainings:
    """The networks of all candidates and runs, trained on one table."""

    table: Table
    candidates: list[Candidate]
    training: Training
    random: Callable[[Role], np.random.Generator]
    likelihood: Callable[[float], Likelihood]
    """Given the noise."""
    device: str

    @cached_property
    def networks(self) -> Networks:
        X, y, width = self.table.X, self.table.y, self.training.width
        return Networks(
            [
                NetworkPosterior(
                    X, y, one.prior(X.shape[1]), self.likelihood(one.noise), width, self.device
                )
                for one in self.candidates
            ]
        )

    @cached_property
    def modes(self) -> Array:
        """Of shape (candidates, runs, D). A run starts from the same draw of any prior."""
        told, D = self.training, self.networks.first.dimension
        starts = self.random("weights").standard_normal((told.runs, D))
        everywhere = np.broadcast_to(starts, (len(self.candidates), told.runs, D))
        return self.networks.train(
            everywhere, told.learning_rate, told.steps, told.batch, self.random("data")
        )

    @cached_property
    def walks(self) -> NDArray[np.float32]:
        """Of shape (candidates, runs, observations, D)."""
        told = self.training
        critical = [
            2 / member.curvature(modes[0], self.table.X[:_ROWS_FOR_CURVATURE])
            for member, modes in zip(self.networks.members, self.modes, strict=True)
        ]
        rates = np.array([one.share for one in self.candidates]) * critical
        random = self.random("data").spawn(1)[0]
        return self.networks.walk(self.modes, rates, told.walk, told.every, told.batch, random)


@dataclass(frozen=True, eq=False)
class NetworkTask(Task):
    """One candidate's networks."""

    trainings: Trainings
    number: int

    @property
    def candidate(self) -> Candidate:
        return self.trainings.candidates[self.number]

    @property
    def batch(self) -> int:
        return self.trainings.training.batch

    def modes(self, number: int) -> Array:
        runs = self.trainings.training.runs
        if number > runs:
            raise ValueError(f"{number} networks are asked for, and there are runs: {runs}")
        return self.trainings.modes[self.number, :number]

    def walk(self, run: int = 0) -> Iterable[Array]:
        self.modes(run + 1)
        rows = self.trainings.walks[self.number, run]
        if not np.isfinite(rows).all():
            raise WalkDiverged(f"SGD with {self.candidate.share:.2g} of the critical rate diverges")
        return [rows.astype(float)]


def draw_candidates(
    learned: Table,
    held_back: Table,
    training: Training,
    random: Callable[[Role], np.random.Generator],
    likelihood: Callable[[float], Likelihood],
    device: str,
    precisions: tuple[float, float] = PRECISIONS,
) -> list[Candidate]:
    """One in each of equal slices of every range, of which that of the prior's precision is given.

    How much noise there is nobody knows beforehand, so that a network is asked first: a candidate's
    noise is drawn around the squared error that its prior makes on the validation part.
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
    first = Trainings(learned, drawn, _one_run(training), random, likelihood, device)
    if not isinstance(first.networks.first.likelihood, Gaussian):
        return drawn
    errors = [
        np.mean((member.functions(modes, held_back.X) - held_back.y) ** 2)
        for member, modes in zip(first.networks.members, first.modes, strict=True)
    ]
    return [
        Candidate(one.share, one.precision, float(max(error * factor, _LEAST_NOISE)))
        for one, error, factor in zip(drawn, errors, factors, strict=True)
    ]


def _one_run(training: Training) -> Training:
    return Training(**vars(training) | {"runs": 1})
