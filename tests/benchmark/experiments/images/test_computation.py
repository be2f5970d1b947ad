"""Tests of posteriors of deep networks on images, from training to rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from support.contexts import context_of, run

from onlinefa_benchmark import algorithms
from onlinefa_benchmark.cells import Bundle, Cell, Group
from onlinefa_benchmark.context import Cache
from onlinefa_benchmark.datasets import images
from onlinefa_benchmark.deep import training
from onlinefa_benchmark.execution.checkpoint import Interrupted, StopRequests
from onlinefa_benchmark.execution.fit import Job, fit_bundle
from onlinefa_benchmark.experiments.images.evaluation import CONTRACTS
from onlinefa_benchmark.storage.result_file import read
from onlinefa_benchmark.storage.store import Store

ESTIMATORS = ["swag", "swag_diagonal", "online_em", "recursive_em", "shrunk_em"]
TRAINING = {
    "epochs": 8,
    "walk_epochs": 12,
    "batch": 32,
    "learning_rate": 0.1,
    "walk_rate": 0.02,
    "weight_decay": 0.001,
    "every": 1,
    "augmentation": False,
    "training_images": 300,
}
EVALUATION = {
    "samples": 6,
    "recollection": 64,
    "test_images": 60,
    "shifted_images": 10,
    "unknown_images": 20,
}
SETTINGS = {
    "deep_ensemble": {"runs": 2},
    "deep_multiswag": {"runs": 2},
    "deep_multi_fa": {"runs": 2},
    "deep_multi_laplace_fa": {"runs": 2, "validation_images": 20, "validation_samples": 2},
    "deep_laplace_fa": {"validation_images": 20, "validation_samples": 2},
    "deep_laplace": {"validation_images": 20},
    "deep_laplace_kron": {"validation_images": 20},
    "deep_ivon": {"learning_rate": 1.0, "hess_init": 10.0},  # few steps, and few images
    "deep_cyclical": {"cycles": 2, "samples_of_cycle": 2, "length": 1.0},
}


def make_cell(algorithm, seed=0, architecture="small", **changes):
    axes = {
        "dataset": "digits",
        "architecture": architecture,
        "D": 3658,
        "K": 2,
        "algorithm": algorithm,
    }
    settings = algorithms.default_settings(algorithm) | SETTINGS.get(algorithm, {})
    parameters = {
        "root_seed": 1,
        "settings": settings,
        "training": TRAINING,
        "evaluation": EVALUATION,
        "unknown": ["photographs"],
    }
    return Cell("images", axes, seed, parameters | changes)


def make_context(cell, companions=None, **options):
    pairs = [(each, algorithms.load(each.base_algorithm)) for each in companions or [cell]]
    return context_of(cell, read_images=lambda name: images.load(name), companions=pairs, **options)


def values_of(cell, **options):
    return {
        (row.metric, row.i, row.j): row.value for row in run(cell, make_context(cell, **options))
    }


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [*algorithms.deep_posterior_names(), *ESTIMATORS])
def test_every_algorithm_has_all_metrics(algorithm):
    if package := algorithms.missing_package(algorithm):
        pytest.skip(f"{package} is not installed")
    rows = run(make_cell(algorithm), make_context(make_cell(algorithm)))
    assert {row.metric for row in rows} == CONTRACTS.keys()
    assert {row.status for row in rows} == {"ok"}
    values = {row.metric: row.value for row in rows if row.i is None}
    assert 0.5 < values["accuracy"] <= 1  # ten classes: better than chance
    assert values["class_nll"] < np.log(10)
    assert min(row.seconds for row in rows) > 0
    assert values["posterior_megabytes"] >= 4 * 3658 / 1e6


@pytest.mark.slow
def test_results_do_not_depend_on_the_other_cells_of_the_job():
    cells = [make_cell(name) for name in ("deep_multiswag", "recursive_em", "swag", "deep_map")]
    cache = Cache()
    together = [values_of(cell, companions=cells, cache=cache) for cell in cells]
    for cell, expected in zip(cells, together, strict=True):
        assert values_of(cell) == expected


def test_a_run_trains_once_for_all_cells(monkeypatch):
    names, cache = ("deep_ensemble", "deep_multiswag", "swag", "deep_map"), Cache()
    cells, trained, train = [make_cell(name) for name in names], [], training.train

    def watch(run, *rest):
        trained.append((run.name, sorted(run.observers)))
        return train(run, *rest)

    monkeypatch.setattr("onlinefa_benchmark.experiments.images.computation.train", watch)
    for cell in cells:
        run(cell, make_context(cell, cells, cache=cache))
    swag = ["SWAG(n_components=2)"]
    assert trained == [("digits-small-0-run-0", swag), ("digits-small-0-run-1", swag)]


def test_an_ensemble_of_two_needs_twice_the_memory():
    single, double = (values_of(make_cell(name)) for name in ("deep_map", "deep_ensemble"))
    key = "posterior_megabytes", None, None
    assert double[key] == 2 * single[key]


@pytest.mark.slow
def test_batch_normalisation_is_collected_for_drawn_networks():
    values = values_of(make_cell("swag", architecture="resnet8"))
    assert values["accuracy", None, None] > 0.5


def test_seeds_differ_and_are_repeatable():
    one, again, two = (values_of(make_cell("deep_map", seed)) for seed in (0, 0, 1))
    assert one == again != two


def test_a_run_that_diverges_is_reported():
    wild = TRAINING | {"learning_rate": 1e30}
    rows = run(make_cell("deep_map", training=wild), make_context(make_cell("deep_map")))
    assert {row.status for row in rows} == {"diverged"}
    assert {row.metric for row in rows} == CONTRACTS.keys()


# -- jobs -----------------------------------------------------------------------------------------


def make_bundle(*names):
    cells = [make_cell(name) for name in names]
    shared = {name: cells[0].axes[name] for name in ("dataset", "architecture")}
    return Bundle(
        "images", shared, tuple(Group(cell.axes, cell.parameters) for cell in cells), (0,)
    )


def values_in(path):
    rows = read(path).to_pandas()
    assert (rows["status"] == "ok").all()
    return rows.set_index(["algorithm", "metric", "i", "j"])["value"]


@pytest.mark.slow
@pytest.mark.parametrize("stop", [5, 80, 230, 360, 400])
def test_an_interrupted_job_continues_with_the_same_rows(tmp_path, monkeypatch, stop):
    bundle = make_bundle("deep_multiswag", "online_em", "deep_mc_dropout")
    fit_bundle(bundle, Job(Store(tmp_path / "one"), tmp_path), tmp_path / "whole.parquet")

    taken, take_step = [], training._Loop.take_step
    requests = StopRequests()

    def interrupt(self, step):
        taken.append(step)
        reached = take_step(self, step)
        if len(taken) == stop:
            requests._stop(15, None)
        return reached

    monkeypatch.setattr(training._Loop, "take_step", interrupt)
    job = Job(Store(tmp_path / "two"), tmp_path, stop_requests=requests)
    output = tmp_path / "resumed.parquet"
    with pytest.raises(Interrupted):
        fit_bundle(bundle, job, output)
    assert len(taken) == stop
    assert list(job.store.workspace(bundle.digest()).glob("*.pt"))
    fit_bundle(bundle, replace(job, cache=Cache()), output)
    # Two runs of 9 steps in each of 20 epochs, and dropout's 8 epochs: no step is taken twice.
    assert len(taken) == 2 * 180 + 72
    assert values_in(tmp_path / "whole.parquet").equals(values_in(output))
    assert not job.store.workspace(bundle.digest()).exists()


def test_a_damaged_state_is_discarded(tmp_path):
    bundle = make_bundle("deep_map")
    job = Job(Store(tmp_path / "store"), tmp_path)
    folder = job.store.workspace(bundle.digest())
    folder.mkdir(parents=True)
    (folder / "digits-small-0-run-0.pt").write_bytes(b"not a state")
    fit_bundle(bundle, job, tmp_path / "rows.parquet")
    assert (read(tmp_path / "rows.parquet").to_pandas()["status"] == "ok").all()


def test_global_random_numbers_have_no_influence():
    expected = values_of(make_cell("deep_mc_dropout"))
    torch.manual_seed(123)
    np.random.seed(123)  # noqa: NPY002
    assert values_of(make_cell("deep_mc_dropout")) == expected
