"""Tests of posteriors that are fitted to walks of SGD."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from support import tiny_networks
from support.gp_tasks import gp_task

from onlinefa_benchmark import algorithms
from onlinefa_benchmark.construction import build_estimator
from onlinefa_benchmark.models.network import NetworkPosterior
from onlinefa_benchmark.posteriors._walks import OneWalk


@pytest.fixture(scope="module")
def task():
    return gp_task(8)


def test_a_walk_is_observed_after_the_warm_up_every_few_steps(task):
    """After a warm-up of one epoch (four steps), every third of twelve steps is observed."""
    rate = 0.3 * 2 / task.network.curvature(task.mode)
    all_steps = np.concatenate(list(task.network.walk(task.mode, rate, 5, 4, task.random("data"))))
    rows = np.concatenate(list(task.walk()))
    np.testing.assert_array_equal(rows, all_steps[4:][2::3])
    np.testing.assert_array_equal(np.concatenate(list(task.steps(0))), rows)


@pytest.fixture(scope="module")
def trainings():
    return tiny_networks.trainings_of()


def test_swa_is_the_network_with_the_mean_weights_of_the_walk(trainings):
    task = tiny_networks.task_of(trainings)
    middle = trainings.walks[0, 0].astype(float).mean(axis=0)
    found = algorithms.load("swa")().functions(task)
    expected = task.network.functions(middle[None], task.inputs)
    np.testing.assert_allclose(found.values, expected, rtol=1e-12)
    assert np.all(found.sd == 0)


def test_a_mixture_draws_equally_many_networks_from_each_run(monkeypatch):
    """The walk of run r is close to 100 r, so that the run of a draw is known."""
    task = tiny_networks.task_of(tiny_networks.trainings_of(), samples=20)
    D = task.network.dimension
    random = np.random.default_rng(0)
    walks = [100 * run + 1e-3 * random.normal(size=(60, D)) for run in range(5)]
    monkeypatch.setattr(type(task), "walk", lambda self, run=0: [walks[run]])
    monkeypatch.setattr(NetworkPosterior, "functions", lambda self, thetas, inputs: thetas)
    for name, runs, counts in (("multiswag", 5, [4] * 5), ("multi_fa", 3, [7, 7, 6])):
        thetas = algorithms.load(name)(runs=runs).functions(task).values
        assert thetas.shape == (20, D)
        of_run = np.rint(thetas / 100).astype(int)
        assert (of_run == of_run[:, :1]).all()
        assert list(np.bincount(of_run[:, 0])) == counts


@pytest.mark.parametrize(
    ("mixture", "estimator"),
    [("multiswag", "swag"), ("multi_online_em", "online_em"), ("multi_fa", "recursive_em")],
)
def test_a_mixture_of_one_run_is_the_gaussian_of_that_run(mixture, estimator, trainings):
    task = tiny_networks.task_of(trainings)
    one = OneWalk(partial(build_estimator, algorithms.load(estimator), {})).functions(task)
    np.testing.assert_array_equal(
        algorithms.load(mixture)(runs=1).functions(task).values, one.values
    )


def test_more_runs_than_were_trained_are_refused(trainings):
    with pytest.raises(ValueError, match="6 networks are required, but runs is 5"):
        algorithms.load("multiswag")(runs=6).functions(tiny_networks.task_of(trainings))
