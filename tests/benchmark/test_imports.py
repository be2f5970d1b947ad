"""Tests of when packages are imported, which takes most of the time of a short job."""

from __future__ import annotations

import pytest
import yaml
from support.configurations import without_experiments
from support.interpreter import imported, run_program

from onlinefa_benchmark.config import files
from onlinefa_benchmark.config.validation import validate
from onlinefa_benchmark.grid import bundles

HEAVY = ["jax", "matplotlib", "numpyro", "seaborn", "torch"]


def test_registries_list_names_without_importing_algorithms():
    program = """
from onlinefa_benchmark import algorithms, experiments
assert algorithms.names() and experiments.names()
assert all(map(algorithms.module_of, algorithms.names()))
"""
    assert imported(program, [*HEAVY, "numba", "scipy", "sklearn"]) == []


@pytest.mark.slow
def test_settings_are_checked_without_importing_computations():
    program = """
from onlinefa_benchmark import algorithms
for name in algorithms.names():
    algorithms.load(name)(**algorithms.default_settings(name))._validate_params()
"""
    assert imported(program, [*HEAVY, "numba"]) == []


CONFIG = {
    "root_seed": 1,
    "seeds_per_job": 1,
    "synthetic": {"D": [5], "K": [2], "spectrum": [[1, 10]], "T": [150], "seeds": 1},
}

JOB = """
from onlinefa_benchmark.cli import main
import pyarrow.parquet as pq
assert main({}) == 0
assert "ok" in pq.read_table({!r}, columns=["status"])["status"].to_pylist()
"""


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["diagonal", "online_em"])
def test_a_job_imports_what_its_algorithm_needs(algorithm, tmp_path):
    config = validate(CONFIG | {"synthetic": CONFIG["synthetic"] | {"algorithms": [algorithm]}})
    (bundle,) = bundles(config)
    files.write_checked(config, tmp_path / "config.json")
    output = str(tmp_path / "cells.parquet")
    arguments = [
        "fit",
        bundle.name,
        "--config",
        str(tmp_path / "config.json"),
        "--digest",
        bundle.digest(),
        "--store",
        str(tmp_path / "store"),
        "--tables",
        str(tmp_path),
        "--output",
        output,
    ]
    assert imported(JOB.format(arguments, output), HEAVY) == []


@pytest.mark.slow
def test_neither_plan_nor_show_imports_computations_or_plotting(tmp_path):
    grid = CONFIG["synthetic"] | {"algorithms": ["diagonal", "online_em"]}
    file = tmp_path / "small.yaml"
    file.write_text(yaml.safe_dump(without_experiments() | CONFIG | {"synthetic": grid}))
    program = f"""
from onlinefa_benchmark.cli import main
assert main(["plan", "--configfile", {str(file)!r}, "--results", {str(tmp_path)!r}]) == 0
assert main(["show", "synthetic/seed~0", "--results", {str(tmp_path)!r}]) == 1
"""
    assert imported(program, [*HEAVY, "numba"]) == []


@pytest.mark.slow
def test_libraries_imported_during_a_fit_use_one_thread():
    program = """
import os
from threadpoolctl import threadpool_info
from onlinefa_benchmark.threads import one_thread
variables = {name: value for name, value in os.environ.items() if "THREADS" in name}
with one_thread():
    import numpy, scipy.linalg, sklearn.decomposition
    pools = threadpool_info()
assert variables == {name: value for name, value in os.environ.items() if "THREADS" in name}
assert len({pool["filepath"] for pool in pools}) > 2, pools
print({pool["num_threads"] for pool in pools})
"""
    assert run_program(program, OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2") == "{1}"
