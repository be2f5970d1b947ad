"""Networks that are trained on one table, and the walks of SGD from the trained weights.

All algorithms share them.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.experiments.network.hyperparameters import Hyperparameters
from onlinefa_benchmark.models.activations import Activation
from onlinefa_benchmark.models.evidence import (
    Stage,
    log_evidence,
    maximise_evidence,
    trace_updates,
)
from onlinefa_benchmark.models.likelihoods import (
    Gaussian,
    HeteroscedasticGaussian,
    Likelihood,
)
from onlinefa_benchmark.models.mode_search import find_mode
from onlinefa_benchmark.models.network import NetworkPosterior
from onlinefa_benchmark.models.training import Networks
from onlinefa_benchmark.randomness import Role

if TYPE_CHECKING:
    from onlinefa_benchmark.context import Progress

log = logging.getLogger(__name__)

_FIRST = Hyperparameters(precision=1.0, noise=0.3)
"""Where the updates of prior and noise begin."""

_FIRST_SPREAD = 0.05  # small, because networks with a large spread fit single rows without noise

_FURTHER_ITERATIONS = 30  # by which the distance from a mode is measured


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


@dataclass(frozen=True)
class NetworkTraining:
    """Architecture and training of networks, and the walk of SGD from the trained weights.

    Parameters
    ----------
    width : int
        Number of hidden units.
    activation : {"erf", "relu"}
        Activation function of the hidden units.
    runs : int
        Number of independent runs.
    rounds : int
        Maximum number of updates of prior and noise during training.
    batch : int
        Rows in a step of SGD.
    walk : int
        Steps of SGD from the trained weights.
    walk_rate : float
        Learning rate of SGD, as a fraction of the rate at which descent with all rows becomes
        unstable.
    every : int
        Steps of SGD between two observations of the weights.
    """

    width: int
    activation: Activation
    runs: int
    rounds: int
    batch: int
    walk: int
    walk_rate: float
    every: int


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainedNetworks(ABC):
    """Networks with several hyperparameters, and several runs of each, trained on one table.

    Parameters
    ----------
    table : Rows
        Training rows.
    training : NetworkTraining
        How networks are trained.
    random : callable
        Return the generator of a role.
    device : str
        Device on which networks are trained.
    progress : Progress, optional
        Reports the progress of training.
    """

    table: Rows
    training: NetworkTraining
    random: Callable[[Role], np.random.Generator]
    device: str = "cpu"
    progress: Progress | None = None

    @property
    @abstractmethod
    def stages(self) -> list[Stage]:
        """The trained networks of all hyperparameters."""

    @cached_property
    def networks(self) -> Networks:
        """The posteriors of all hyperparameters."""
        return Networks([stage.network for stage in self.stages])

    @cached_property
    def hyperparameters(self) -> list[Hyperparameters]:
        """All hyperparameters."""
        return [Hyperparameters.of(member) for member in self.networks.members]

    @cached_property
    def modes(self) -> Array:
        """Maxima of the posteriors, of shape (hyperparameters, runs, D)."""
        return np.array([stage.thetas for stage in self.stages])

    @cached_property
    def walks(self) -> NDArray[np.float32]:
        """Weights along SGD from the modes, of shape (hyperparameters, runs, observations, D)."""
        training = self.training
        critical = [
            member.critical_rate(modes[0])
            for member, modes in zip(self.networks.members, self.modes, strict=True)
        ]
        rates = training.walk_rate * np.array(critical)
        random = self.random("data")
        return self.networks.walk(
            self.modes, rates, training.walk, training.every, training.batch, random
        )

    @cached_property
    def energy_excesses(self) -> list[float]:
        """How far the first mode of each hyperparameter is from a maximum of its posterior.

        It is the difference of log posterior densities, in nats, between these weights and those
        after further iterations of the search for a mode.
        """
        return [
            _measure_excess(member, modes[0])
            for member, modes in zip(self.networks.members, self.modes, strict=True)
        ]

    def posterior(self, chosen: Hyperparameters, likelihood: Likelihood) -> NetworkPosterior:
        """Return the posterior of weights with some hyperparameters."""
        X, y = self.table.X, self.table.y
        return NetworkPosterior(
            X,
            y,
            chosen.prior(X.shape[1]),
            likelihood,
            self.training.width,
            self.device,
            self.progress,
            self.training.activation,
        )

    def draw_starts(self, D: int) -> Array:
        """Draw the initial weights of all runs, in units of the prior: of shape (runs, D)."""
        return self.random("weights").standard_normal((self.training.runs, D))


def _measure_excess(network: NetworkPosterior, theta: Array) -> float:
    """Return how much the energy decreases in further iterations of the search for a mode."""
    quiet = replace(network, progress=None)
    better = find_mode(quiet, theta, _FURTHER_ITERATIONS).theta
    with torch.no_grad():
        before, after = (network.energy(network.tensor(at)).item() for at in (theta, better))
    return before - after


@dataclass(frozen=True, eq=False, kw_only=True)
class EvidenceNetworks(TrainedNetworks):
    """Networks with the hyperparameters of the largest evidence, trained to modes.

    Parameters
    ----------
    iterations : int
        Maximum number of iterations of the search for each mode, with the final hyperparameters.
    """

    iterations: int

    @cached_property
    def stages(self) -> list[Stage]:
        """The networks with the hyperparameters of the largest evidence."""
        return [self._train(self._maximise())]

    def _maximise(self) -> Stage:
        """Return the networks during the updates of prior and noise with the largest evidence."""
        network = self.posterior(_FIRST, Gaussian(_FIRST.noise))
        return maximise_evidence(network, self.draw_starts(network.dimension), self.training.rounds)

    def _train(self, stage: Stage) -> Stage:
        """Return the networks at modes, and their evidence there."""
        network, modes = stage.network, []
        for run, theta in enumerate(stage.thetas):
            mode = find_mode(network, theta, self.iterations)
            excess = _measure_excess(network, mode.theta)
            log.info("run %d: %.2g nats from a mode, %d iterations", run, excess, mode.iterations)
            modes.append(mode.theta)
        evidence = float(np.mean([log_evidence(network, mode) for mode in modes]))
        log.info("%s: log evidence %.5g", Hyperparameters.of(network), evidence)
        return Stage(network, np.array(modes), evidence)


@dataclass(frozen=True, eq=False, kw_only=True)
class HeteroscedasticNetworks(EvidenceNetworks):
    """Networks whose second output is the log variance of the noise.

    They begin with the networks that have the same noise for all inputs and the largest evidence.
    If no spread of the log variance has a larger evidence, it is zero.
    """

    @cached_property
    def stages(self) -> list[Stage]:
        """The networks with the larger evidence: with a spread of the log variance, or without.

        They are compared at modes. On the way there, networks that fit single rows without noise
        have a large evidence, which falls when they come closer to a mode.
        """
        constant = self._maximise()
        thetas = constant.network.shape.add_output(constant.thetas)
        noise = Hyperparameters.of(constant.network).noise

        def spread_by(spread: float) -> NetworkPosterior:
            return replace(constant.network, likelihood=HeteroscedasticGaussian(noise, spread))

        without = Stage(spread_by(0.0), thetas, constant.log_evidence)
        varying = maximise_evidence(spread_by(_FIRST_SPREAD), thetas, self.training.rounds)
        candidates = [self._train(stage) for stage in (without, varying)]
        return [max(candidates, key=lambda stage: stage.log_evidence)]


@dataclass(frozen=True, eq=False, kw_only=True)
class UpdatedNetworks(TrainedNetworks):
    """Networks after several numbers of updates of prior and noise.

    The updates begin with a strong prior and much noise, and lead to ever more flexible networks.

    Parameters
    ----------
    numbers : sequence of int
        Numbers of updates, in increasing order.
    """

    numbers: Sequence[int]

    @cached_property
    def stages(self) -> list[Stage]:
        """The networks after each number of updates, or after the last one if there are fewer."""
        network = self.posterior(_FIRST, Gaussian(_FIRST.noise))
        starts = self.draw_starts(network.dimension)
        traced = list(trace_updates(network, starts, max(self.numbers) + 1))
        return [traced[min(number, len(traced) - 1)] for number in self.numbers]
