"""The task of a posterior that is compared with a Gaussian process, for several test files."""

from __future__ import annotations

from functools import partial

import numpy as np

from onlinefa_benchmark.experiments.gp.task import GPTask, GPTraining
from onlinefa_benchmark.models.covariance import NeuralNetwork
from onlinefa_benchmark.models.gaussian_process import GaussianProcess, fit_most_likely
from onlinefa_benchmark.models.likelihoods import Gaussian
from onlinefa_benchmark.models.network import NetworkPosterior
from onlinefa_benchmark.models.scaling import append_ones
from onlinefa_benchmark.randomness import generator

TRAINING = GPTraining(iterations=2000, learning_rate=0.3, batch=5, warm_up=1, epochs=4, every=3)


def gp_task(width, rows=20, noise=0.05):
    """Return the task of networks of a width on a noisy sine."""
    random = np.random.default_rng(0)
    X = append_ones(random.uniform(-2, 2, size=(rows, 1)))
    y = np.sin(2 * X[:, 0]) + 0.1 * random.normal(size=rows)
    prior = NeuralNetwork(1.5, 1.5, 0.5)
    random = partial(generator, 1, "gp", "test", 0)
    return GPTask(
        NetworkPosterior(X, y, prior, Gaussian(noise), width),
        append_ones(np.linspace(-3, 3, 9)[:, None]),
        2,
        50,
        random,
        TRAINING,
        GaussianProcess(X, y, prior, noise),
        lambda covariance: fit_most_likely(X, y, covariance, random("model")),
    )
