"""Tests that results do not depend on threads, the order of jobs and seeds per job."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from onlinefa_benchmark import datasets

pytestmark = pytest.mark.long

_FACTORS = {"D": [12], "K": [2], "spectrum": [[1, 10]], "T": [20, 150]}
_WALK = {"batch": 32, "warm_up": 5, "every": 5, "epochs": 20}
_TRAINED = {
    "width": 4,
    "K": 2,
    "samples": 5,
    "activation": "erf",
    "splits": "standard",
    "noises": ["evidence", "validation"],
    "rounds": 2,
    "iterations": 5,
    "candidates": 2,
    "runs": 2,
    "batch": 32,
    "walk": 20,
    "walk_rate": 0.5,
    "every": 1,
    "seeds": 2,
}
CONFIG = {
    "root_seed": 2021,
    "variants": {
        "two_walks": {"algorithm": "multiswag", "runs": 2},
        "few_steps": {"algorithm": "mean_field", "steps": 5},
        "few_chains": {"algorithm": "sghmc", "chains": 2, "steps": 5},
        "dropout": {"algorithm": "mc_dropout", "steps": 5},
    },
    "synthetic": _FACTORS | {"algorithms": ["online_em", "batch_svd", "shrunk_em"], "seeds": 2},
    "change": _FACTORS | {"algorithms": ["recursive_em"], "change_at": 50, "seeds": 2},
    "linear": _WALK
    | {
        "datasets": ["yacht"],
        "algorithms": ["batch_ml", "swag"],
        "K": [2],
        "walks": ["replacement_averaged"],
        "learning_rate": 0.05,
        "seeds": 2,
    },
    "plane": _WALK | {"algorithms": ["online_sga"], "rates": [0.1], "seeds": 1},
    "gp": {
        "datasets": ["toy"],
        "algorithms": ["map", "laplace_all", "swag", "gaussian_process"],
        "widths": [4],
        "K": 2,
        "samples": 5,
        "iterations": 1000,
        "learning_rate": 0.3,
        "batch": 10,
        "warm_up": 5,
        "epochs": 20,
        "every": 1,
        "seeds": 2,
    },
    "network": _TRAINED
    | {
        "datasets": ["yacht"],
        "algorithms": ["map", "two_walks", "few_steps", "few_chains", "dropout"],
    },
    "images": {
        "datasets": ["digits"],
        "architectures": ["small"],
        "algorithms": ["map", "swag", "laplace_fa", "mc_dropout"],
        "K": [2],
        "epochs": 1,
        "walk_epochs": 1,
        "batch": 32,
        "learning_rate": 0.05,
        "walk_rate": 0.05,
        "weight_decay": 0.001,
        "every": 1,
        "samples": 3,
        "shifted_images": 20,
        "unknown_images": 20,
        "seeds": 2,
    },
}

FIT_ALL = """
import json, sys
from pathlib import Path
from threadpoolctl import threadpool_info
from onlinefa_benchmark.config import config_model
from onlinefa_benchmark.execution.fit import Job, fit_bundle
from onlinefa_benchmark.experiments.base import Experiment
from onlinefa_benchmark.grid import bundles
from onlinefa_benchmark.storage.result_file import bundle_path
from onlinefa_benchmark.storage.store import Store

folder, tables, order, config = sys.argv[1:]
threads, run = set(), Experiment.run

def watched_run(self, cell, context):
    for number, measurement in enumerate(run(self, cell, context)):
        if number == 0:  # asking takes longer than most fits
            threads.update(library["num_threads"] for library in threadpool_info())
            if "torch" in sys.modules:
                threads.add(sys.modules["torch"].get_num_threads())
        yield measurement

Experiment.run = watched_run
grid = bundles(config_model().model_validate_json(config))
for bundle in reversed(grid) if order == "backwards" else grid:
    output = bundle_path(bundle, Path(folder, "cells"))
    fit_bundle(bundle, Job(Store(Path(folder, "store")), Path(tables)), output)
print(json.dumps(sorted(threads)))
"""


@pytest.fixture(scope="module")
def fits(tmp_path_factory):
    """Return the stores of two runs, and the numbers of threads of all libraries in each."""
    tables = tmp_path_factory.mktemp("tables")
    datasets.load("yacht", cache=tables)
    found = []
    for threads, order, per_job in [("1", "forwards", 1), ("2", "backwards", 2)]:
        folder = tmp_path_factory.mktemp(order)
        config = json.dumps(CONFIG | {"seeds_per_job": per_job})
        variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        run = subprocess.run(
            [sys.executable, "-c", FIT_ALL, folder, tables, order, config],
            env=os.environ | dict.fromkeys(variables, threads),
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stderr
        found.append((folder / "store", json.loads(run.stdout)))
    return found


def rows_of(store):
    """Return the rows of the cells in a store, by digest, without columns that differ by run."""
    files = sorted(Path(store).rglob("*.parquet"))
    of_the_run = ["seconds", "peak_memory_mb", "host", "commit", "versions"]
    return {
        file.stem: pq.ParquetFile(file).read().drop_columns(of_the_run).to_pandas()
        for file in files
    }


def test_results_do_not_depend_on_threads_order_or_bundles(fits):
    (one, _), (two, _) = fits
    first, second = rows_of(one), rows_of(two)
    assert first.keys() == second.keys()
    for digest, rows in first.items():
        pd.testing.assert_frame_equal(rows, second[digest], check_exact=True)
    together = pd.concat(first.values())
    assert set(together["experiment"]) == set(CONFIG) - {"root_seed", "variants"}
    assert (together["status"] == "ok").mean() > 0.9


def test_every_library_uses_one_thread_in_a_fit(fits):
    for _, threads in fits:
        assert threads == [1]
