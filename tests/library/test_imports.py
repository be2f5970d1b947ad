"""Tests that PyTorch and numba are imported only if an algorithm needs them."""

from __future__ import annotations

import pytest
from support.interpreter import imported

FIT = """
import numpy
from onlinefa_benchmark import algorithms
rows = numpy.random.default_rng(0).normal(size=(300, 6))
for name in {}:
    model = algorithms.load(name)()
    if "n_components" in model.get_params():
        model.set_params(n_components=2)
    model.fit(rows)
    model.partial_fit(rows[:1]).partial_fit(rows[::2].astype(numpy.float32))
    model.score(rows), model.sample(3), model.get_covariance(), repr(model)
"""


def test_imports_of_a_program_are_detected():
    assert imported("import scipy.linalg", ["scipy", "torch"]) == ["scipy"]


@pytest.mark.slow
def test_numpy_algorithms_do_not_import_numba():
    names = ["diagonal", "lrvga", "recursive_em", "shrunk_em", "swag", "swag_diagonal"]
    assert imported(FIT.format(names), ["jax", "numba", "torch"]) == []


@pytest.mark.slow
def test_compiled_algorithms_do_not_import_pytorch():
    names = ["online_em", "online_sga", "preconditioned_sga", "stepwise_em"]
    assert imported(FIT.format(names), ["jax", "numba", "torch"]) == ["numba"]


@pytest.mark.slow
def test_a_weight_posterior_does_not_import_numba():
    program = """
import torch
from onlinefa import SWAG
from onlinefa.torch import WeightPosterior
posterior = WeightPosterior(torch.nn.Linear(3, 1), SWAG(n_components=1))
assert posterior.updates == 0
posterior.update()
posterior.predict(torch.zeros(2, 3), samples=2)
"""
    assert imported(program, ["jax", "matplotlib", "numba"]) == []
