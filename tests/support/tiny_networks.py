"""Small networks that are trained in milliseconds, for several test files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from onlinefa_benchmark.experiments.network.hyperparameters import Hyperparameters
from onlinefa_benchmark.experiments.network.task import NetworkTask
from onlinefa_benchmark.experiments.network.trained_networks import (
    NetworkTraining,
    Rows,
    TrainedNetworks,
)
from onlinefa_benchmark.models.evidence import Stage
from onlinefa_benchmark.models.likelihoods import Categorical, Gaussian, Likelihood
from onlinefa_benchmark.models.mode_search import find_mode
from onlinefa_benchmark.models.scaling import append_ones
from onlinefa_benchmark.randomness import generator

TRAINING = NetworkTraining(
    width=3, activation="erf", runs=5, rounds=3, batch=8, walk=12, walk_rate=0.3, every=1
)
CANDIDATES = [Hyperparameters(1.0, 0.1), Hyperparameters(0.4, 0.3)]
RANDOM = partial(generator, 1, "network", "made up", 0)


@dataclass(frozen=True, eq=False, kw_only=True)
class FixedNetworks(TrainedNetworks):
    """Networks with given hyperparameters, trained to modes."""

    choices: Sequence[Hyperparameters]
    likelihood: Callable[[float], Likelihood]

    @cached_property
    def stages(self) -> list[Stage]:
        """The networks of all hyperparameters; a run has the same start for all of them."""
        networks = [self.posterior(one, self.likelihood(one.noise)) for one in self.choices]
        starts = self.draw_starts(networks[0].dimension)
        return [
            Stage(one, np.array([find_mode(one, start, 200).theta for start in starts]), 0.0)
            for one in networks
        ]


def table_of(rows=24, classes=None):
    """Return a random table for regression, or for classification."""
    random = np.random.default_rng(0)
    X = append_ones(random.normal(size=(rows, 2)))
    if classes:
        return Rows(X, np.argmax(X @ random.normal(size=(3, classes)), axis=1))
    return Rows(X, np.sin(2 * X[:, 0]) + X[:, 1])


def trainings_of(classes=None, rows=24, candidates=CANDIDATES, training=TRAINING):
    """Return the networks of all hyperparameters, trained on a random table."""
    return FixedNetworks(
        table=table_of(rows, classes),
        training=training,
        random=RANDOM,
        choices=candidates,
        likelihood=(lambda noise: Categorical(classes)) if classes else Gaussian,
    )


def task_of(trainings, number=0, K=2, samples=10, asked=7):
    """Return the task of one candidate, with random inputs at which functions are predicted."""
    inputs = append_ones(np.random.default_rng(1).normal(size=(asked, 2)))
    network = trainings.networks.members[number]
    return NetworkTask(network, inputs, K, samples, RANDOM, trainings, number)
