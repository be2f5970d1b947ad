"""What is imported, and when: of a short fit, imports would take most of the time."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from onlinefa.config import Config
from onlinefa.grid import bundles

HEAVY = ["jax", "pandas", "scipy.stats", "sklearn", "torch"]


def run(program, **variables):
    answer = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | variables, capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


def imported(program, modules):
    """Which of the modules a new interpreter has imported after a program."""
    look = f"import sys; print(*(name for name in {modules} if name in sys.modules))"
    return run(f"{program}\n{look}").split()


def test_what_a_program_imports_is_seen():
    assert imported("import scipy.linalg", ["scipy", "torch"]) == ["scipy"]


def test_to_import_all_estimators_takes_numpy_alone():
    program = (
        "from onlinefa import estimators\nfor name in estimators.names(): estimators.load(name)"
    )
    assert imported(program, [*HEAVY, "numba", "scipy"]) == []


FIT = """
import numpy
from onlinefa import estimators
rows = numpy.random.default_rng(0).normal(size=(300, 6))
for name in {}:
    model = estimators.build(name, {{}}, n_components=2).fit(rows)
    model.partial_fit(rows[:1]).partial_fit(rows[::2].astype(numpy.float32))
    model.score(rows), model.sample(3), model.get_covariance(), model.n_samples_seen_
    repr(model.without_data().set_params(**model.get_params()))
"""


def test_what_is_written_in_numpy_learns_from_arrays_without_anything_else():
    names = ["diagonal", "recursive_em", "shrunk_em", "swag", "swag_diagonal"]
    assert imported(FIT.format(names), [*HEAVY, "numba", "scipy"]) == []


def test_what_is_compiled_learns_from_arrays_without_anything_else():
    """But for SciPy's linear algebra, which numba itself looks for."""
    names = ["online_em", "online_sga", "preconditioned_sga", "stepwise_em"]
    assert imported(FIT.format(names), [*HEAVY, "scipy.optimize", "scipy.sparse"]) == []


def test_a_posterior_of_a_network_takes_pytorch_alone():
    program = """
import torch
from onlinefa import SWAG
from onlinefa.torch import WeightPosterior
posterior = WeightPosterior(torch.nn.Linear(3, 1), SWAG(n_components=1))
assert posterior.updates == 0
posterior.update()
posterior.predict(torch.zeros(2, 3), samples=2)
"""
    assert imported(program, ["numba", "pandas", "scipy", "sklearn"]) == []


def test_settings_are_checked_without_what_fits():
    program = """
from onlinefa import algorithms
for name in algorithms.names():
    algorithms.build(name, algorithms.default_settings(name)).check_parameters()
"""
    assert imported(program, [*HEAVY, "numba", "scipy"]) == []


JOB = """
from pathlib import Path
from onlinefa import fitting, results
from onlinefa.cell import Bundle
bundle, folder = Bundle.from_json({!r}), Path({!r})
fitting.fit_bundle(bundle, results.Store(folder / "store"), folder, folder / "cells.parquet")
statuses = results.read_one(folder / "cells.parquet", ["status"])["status"].to_pylist()
assert "ok" in statuses and results.FAILED not in statuses
"""


@pytest.mark.parametrize("algorithm", ["diagonal", "online_em"])
def test_a_job_imports_what_its_algorithm_needs(algorithm, tmp_path):
    grid = {"D": [5], "K": [2], "spectrum": [[1, 10]], "T": [150], "seeds": 1}
    config = {"root_seed": 1, "seeds_per_job": 1, "synthetic": grid | {"algorithms": [algorithm]}}
    (bundle,) = bundles(Config.model_validate(config))
    assert imported(JOB.format(bundle.to_json(), str(tmp_path)), HEAVY) == []


def test_what_is_imported_in_a_fit_has_one_thread_as_well():
    program = """
import os
from threadpoolctl import threadpool_info
from onlinefa.threads import one_thread
variables = {name: value for name, value in os.environ.items() if "THREADS" in name}
with one_thread():
    import numpy, scipy.linalg, sklearn.decomposition
    pools = threadpool_info()
assert variables == {name: value for name, value in os.environ.items() if "THREADS" in name}
assert len({pool["filepath"] for pool in pools}) > 2, pools
print({pool["num_threads"] for pool in pools})
"""
    assert run(program, OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2") == "{1}"
