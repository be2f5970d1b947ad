"""Small networks that are trained in milliseconds, for several test files."""

from __future__ import annotations

from functools import partial

import numpy as np

from onlinefa_benchmark.experiments.network.task import (
    Candidate,
    NetworkTask,
    NetworkTraining,
    Rows,
    TrainedNetworks,
)
from onlinefa_benchmark.models.likelihoods import Categorical, Gaussian
from onlinefa_benchmark.models.scaling import append_ones
from onlinefa_benchmark.randomness import generator

TRAINING = NetworkTraining(
    width=3, candidates=2, runs=5, batch=8, steps=60, learning_rate=0.05, walk=12, every=1
)
CANDIDATES = [Candidate(0.3, 1.0, 0.1), Candidate(0.2, 0.4, 0.3)]
RANDOM = partial(generator, 1, "network", "made up", 0)


def table_of(rows=24, classes=None):
    """Return a random table for regression, or for classification."""
    random = np.random.default_rng(0)
    X = append_ones(random.normal(size=(rows, 2)))
    if classes:
        return Rows(X, np.argmax(X @ random.normal(size=(3, classes)), axis=1))
    return Rows(X, np.sin(2 * X[:, 0]) + X[:, 1])


def trainings_of(classes=None, rows=24, candidates=CANDIDATES, training=TRAINING):
    """Return the networks of all candidates, trained on a random table."""
    likelihood = (lambda noise: Categorical(classes)) if classes else Gaussian
    table = table_of(rows, classes)
    return TrainedNetworks(table, candidates, training, RANDOM, likelihood, "cpu")


def task_of(trainings, number=0, K=2, samples=10, asked=7):
    """Return the task of one candidate, with random inputs at which functions are predicted."""
    inputs = append_ones(np.random.default_rng(1).normal(size=(asked, 2)))
    network = trainings.networks.members[number]
    return NetworkTask(network, inputs, K, samples, RANDOM, trainings, number)
