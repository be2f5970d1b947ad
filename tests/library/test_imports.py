"""Tests that PyTorch and numba are imported only if an algorithm needs them."""

from __future__ import annotations

import importlib
import sys

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
def test_a_weight_posterior_imports_neither_numba_nor_frameworks_of_training():
    program = """
import torch
from onlinefa import SWAG
from onlinefa.torch import WeightPosterior
posterior = WeightPosterior(torch.nn.Linear(3, 1), SWAG(n_components=1))
assert posterior.updates == 0
posterior.update()
posterior.predict(torch.zeros(2, 3), samples=2)
"""
    assert imported(program, ["jax", "lightning", "matplotlib", "numba", "transformers"]) == []


class Nowhere:
    """A finder that reports that a package is not installed."""

    def __init__(self, package):
        self.package = package

    def find_spec(self, name, path=None, target=None):
        if name == self.package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.mark.parametrize("package", ["lightning", "transformers"])
def test_a_callback_without_its_package_says_what_to_install(package, monkeypatch):
    for name in [f"onlinefa.torch.{package}", *sys.modules]:
        if name.removeprefix("onlinefa.torch.").partition(".")[0] == package:
            monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "meta_path", [Nowhere(package), *sys.meta_path])
    message = rf"^onlinefa.torch.{package} needs \w+: pip install 'onlinefa\[{package}\]'$"
    with pytest.raises(ModuleNotFoundError, match=message):
        importlib.import_module(f"onlinefa.torch.{package}")
