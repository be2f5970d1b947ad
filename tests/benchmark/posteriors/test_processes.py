"""Tests of the Gaussian process and of its approximations."""

from __future__ import annotations

import numpy as np
import pytest
from support.gp_tasks import gp_task

from onlinefa_benchmark import algorithms


@pytest.fixture(scope="module")
def task():
    return gp_task(8)


def test_the_exact_process_and_its_approximations(task):
    mean, variance = task.process.predict(task.inputs)
    exact = algorithms.load("gaussian_process")().functions(task)
    np.testing.assert_allclose(exact.mean, mean)
    np.testing.assert_allclose(exact.sd**2, variance)
    # With as many landmarks as rows, the approximation is exact.
    wide = gp_task(20)
    nystrom = algorithms.load("nystrom")().functions(wide)
    np.testing.assert_allclose(nystrom.mean, mean, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(nystrom.sd, exact.sd, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("name", ["random_features", "fourier_features"])
def test_many_random_features_are_close_to_their_process(name):
    task = gp_task(2001)
    posterior = algorithms.load(name)()
    mean, variance = posterior.truth(task).predict(task.inputs)
    found = posterior.functions(task)
    assert np.max(np.abs(found.mean - mean) / np.sqrt(variance)) < 0.5
    np.testing.assert_allclose(found.sd, np.sqrt(variance), rtol=0.2)
