"""Tests of IVON on tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.tiny_networks import TRAINING, task_of, trainings_of

from onlinefa.estimators.base import FitDiverged
from onlinefa_benchmark.posteriors.ivon import IVON

pytest.importorskip("ivon")


def test_the_gaussian_of_a_linear_network_is_the_posterior():
    """With inputs of zero the output is the bias, and all other weights keep the prior N(0, 1).

    In units of the prior, the bias has the precision 1 + N sigma^2 / noise.
    """
    task = task_of(trainings_of(training=replace(TRAINING, batch=24)), samples=2000)
    network = replace(task.network, X=np.zeros_like(task.network.X))
    task = replace(task, network=network)
    N, sigma, noise = len(network.y), network.prior.sigma_b, network.likelihood.noise
    precision = 1 + N * sigma**2 / noise
    mean = sigma * network.y.sum() / noise / precision
    drawn = IVON(steps=4000, beta2=0.99).draw(task)
    bias, others = drawn[:, -1], drawn[:, :-1]
    assert bias.mean() == pytest.approx(mean, abs=0.2 * precision**-0.5)
    assert bias.std() == pytest.approx(precision**-0.5, rel=0.15)
    assert others.std(axis=0) == pytest.approx(np.ones(others.shape[1]), rel=0.3)


def test_the_same_task_gives_the_same_functions():
    task = task_of(trainings_of())
    one, two = (IVON(steps=5).functions(task).values for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_too_large_rates_diverge():
    with pytest.raises(FitDiverged, match="IVON with 1e\\+30 of the critical rate"):
        IVON(steps=300, rate=1e30).functions(task_of(trainings_of()))
