"""Networks that are trained in a blink, for tests."""

from __future__ import annotations

from functools import partial

import numpy as np

from onlinefa.experiments.network_task import Candidate, NetworkTask, Table, Training, Trainings
from onlinefa.models.likelihoods import Categorical, Gaussian
from onlinefa.models.scaling import with_one
from onlinefa.randomness import generator

TRAINING = Training(
    width=3, candidates=2, runs=5, batch=8, steps=60, learning_rate=0.05, walk=12, every=1
)
CANDIDATES = [Candidate(0.3, 1.0, 0.1), Candidate(0.2, 0.4, 0.3)]
RANDOM = partial(generator, 1, "network", "made up", 0)


def table_of(rows=24, classes=None):
    random = np.random.default_rng(0)
    X = with_one(random.normal(size=(rows, 2)))
    if classes:
        return Table(X, np.argmax(X @ random.normal(size=(3, classes)), axis=1))
    return Table(X, np.sin(2 * X[:, 0]) + X[:, 1])


def trainings_of(classes=None, rows=24, candidates=CANDIDATES, training=TRAINING):
    likelihood = (lambda noise: Categorical(classes)) if classes else Gaussian
    table = table_of(rows, classes)
    return Trainings(table, candidates, training, RANDOM, likelihood, "cpu")


def task_of(trainings, number=0, K=2, samples=10, asked=7):
    inputs = with_one(np.random.default_rng(1).normal(size=(asked, 2)))
    network = trainings.networks.members[number]
    return NetworkTask(network, inputs, K, samples, RANDOM, trainings, number)
