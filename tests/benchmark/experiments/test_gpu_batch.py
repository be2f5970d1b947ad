"""Tests that seeds which are fitted as a batch have the same rows as separate fits."""

from __future__ import annotations

import dataclasses
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import yaml
from support.contexts import context_of, run

from onlinefa_benchmark import experiments
from onlinefa_benchmark.config.validation import validate
from onlinefa_benchmark.execution import devices
from onlinefa_benchmark.execution.fit import Job, fit_bundle
from onlinefa_benchmark.experiments import _gpu_batch
from onlinefa_benchmark.grid import bundles
from onlinefa_benchmark.storage.store import Store

pytestmark = pytest.mark.slow  # every batch is compared with separate fits

CONFIG = Path(__file__).parents[3] / "config" / "config.yaml"
SYNTHETIC = {
    "algorithms": ["online_em", "online_sga", "recursive_em", "shrunk_em", "batch_svd"],
    "D": [12],
    "K": [2],
    "spectrum": [[1, 10], [1, 100]],
    "T": [50, 150, 400],
    "seeds": 3,
}
CHANGE = SYNTHETIC | {"change_at": 170, "spectrum": [[1, 10]]}


def grid(**changes):
    values = yaml.safe_load(CONFIG.read_text()) | {
        **dict.fromkeys(experiments.names()),
        "synthetic": SYNTHETIC,
        "change": CHANGE,
        "device": "cuda",
        "variants": {"forgetful": {"algorithm": "recursive_em", "forgetting": 150}},
    }
    return {bundle.name: bundle for bundle in bundles(validate(values | changes))}


def make_trial_of(experiment):
    return import_module(experiments.load(experiment).computation).trial


def run_batch(cells):
    make_trial = make_trial_of(cells[0].experiment)
    return _gpu_batch.run_batch(cells, make_trial, context_of(cells[0]))


@pytest.mark.parametrize("experiment", ["synthetic", "change"])
@pytest.mark.parametrize("algorithm", ["online_em", "online_sga", "recursive_em", "shrunk_em"])
def test_a_batch_equals_separate_fits(experiment, algorithm):
    bundle = grid()[f"{experiment}/device~cuda/algorithm~{algorithm}/D~12/K~2/seeds~0-2"]
    cells = bundle.cells()[:: len(bundle.groups)]  # the seeds of the first group
    for cell, found in zip(cells, run_batch(cells), strict=True):
        expected = run(cell)
        assert [(m.step, m.metric) for m in found] == [(m.step, m.metric) for m in expected]
        np.testing.assert_allclose(
            [m.value for m in found], [m.value for m in expected], rtol=1e-7, atol=1e-12
        )


def test_a_diverging_fit_does_not_affect_its_batch():
    cells = grid()["synthetic/device~cuda/algorithm~online_sga/D~12/K~2/seeds~0-2"].cells()[::2]

    def make_trial(cell, context):
        trial = make_trial_of("synthetic")(cell, context)
        if cell is not cells[1]:
            return trial
        stream = lambda step: (1e8 * rows for rows in trial.stream(step))  # noqa: E731
        return dataclasses.replace(trial, stream=stream)

    found = _gpu_batch.run_batch(cells, make_trial, context_of(cells[0]))
    # The first measurement is within the warm-up of 100 observations; all later ones diverge.
    statuses = [{(m.step, m.status) for m in rows} for rows in found]
    assert statuses[1] == {(50, "ok"), (150, "diverged"), (400, "diverged")}
    assert statuses[0] == statuses[2] == {(50, "ok"), (150, "ok"), (400, "ok")}
    assert len({len(rows) for rows in found}) == 1


def test_the_device_is_part_of_cells_that_can_use_it():
    variants = {
        "forgetful": {"algorithm": "recursive_em", "forgetting": 150},
        "three": {"algorithm": "recursive_em", "n_components": 3},
    }
    synthetic = SYNTHETIC | {"algorithms": [*SYNTHETIC["algorithms"], *variants]}
    on_gpu = grid(synthetic=synthetic, variants=variants)
    on_cpu = grid(synthetic=synthetic, variants=variants, device="cpu")
    assert {name.replace("/device~cuda", "") for name in on_gpu} == set(on_cpu)
    concerned = set(on_gpu) - set(on_cpu)
    assert concerned == {
        f"{experiment}/device~cuda/algorithm~{algorithm}/D~12/K~2/seeds~0-2"
        for experiment in ("synthetic", "change")
        for algorithm in ("online_em", "online_sga", "recursive_em", "shrunk_em")
    } | {"synthetic/device~cuda/algorithm~forgetful/D~12/K~2/seeds~0-2"}
    for name in concerned:
        assert on_gpu[name].cells()[0].device == "cuda"
        assert on_gpu[name].code != on_cpu[name.replace("/device~cuda", "")].code
    for name in set(on_gpu) - concerned:
        assert on_gpu[name] == on_cpu[name]


def test_a_job_fits_the_missing_cells_of_each_group_as_a_batch(monkeypatch, tmp_path):
    # The device is named as a GPU, but PyTorch uses the CPU.
    monkeypatch.setattr(devices, "resolve", lambda wanted: "meta" if wanted == "cuda" else "cpu")
    monkeypatch.setattr(devices, "describe", lambda device: f"a {device} device")
    batches = []

    def run_on_cpu(cells, make_trial, context):
        assert context.device == "meta"
        batches.append([(cell.axes["spectrum"], cell.seed) for cell in cells])
        return run_on_device(cells, make_trial, dataclasses.replace(context, device="cpu"))

    run_on_device = _gpu_batch.run_batch
    monkeypatch.setattr(_gpu_batch, "run_batch", run_on_cpu)
    store, output = Store(tmp_path / "store"), tmp_path / "rows.parquet"
    for seeds in (1, 3):
        [bundle] = grid(
            change=None, synthetic=SYNTHETIC | {"algorithms": ["online_em"], "seeds": seeds}
        ).values()
        fit_bundle(bundle, Job(store, tmp_path), output)
    assert batches == [
        [("1-10", 0)],
        [("1-100", 0)],
        [("1-100", 1), ("1-100", 2)],
        [("1-10", 1), ("1-10", 2)],
    ]
    cell = bundle.cells()[len(bundle.groups)]  # the first of the second seed
    rows = store.get(cell.digest()).to_pylist()
    assert {(row["device"], row["seed"], row["status"]) for row in rows} == {
        ("a meta device", 1, "ok")
    }
