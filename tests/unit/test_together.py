"""Seeds that are fitted at once have the rows that they have one by one, and devices are honest."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from onlinefa import batched, devices, fitting
from onlinefa.config import EXPERIMENTS
from onlinefa.devices import NoDevice, resolve
from onlinefa.estimators import class_name
from onlinefa.experiments import load, together
from onlinefa.grid import bundles
from onlinefa.results import Store
from onlinefa.validation import validate

CONFIG = Path(__file__).parents[2] / "config" / "config.yaml"
SYNTHETIC = {
    "algorithms": ["online_em", "online_sga", "recursive_em", "batch_svd"],
    "D": [12], "K": [2], "spectrum": [[1, 10], [1, 100]], "T": [50, 150, 400], "seeds": 3,
}  # fmt: skip
CHANGE = SYNTHETIC | {"change_at": 170, "spectrum": [[1, 10]]}


def grid(**changes):
    values = yaml.safe_load(CONFIG.read_text()) | {
        **dict.fromkeys(EXPERIMENTS),
        "synthetic": SYNTHETIC, "change": CHANGE, "device": "cuda",
        "variants": {"forgetful": {"algorithm": "recursive_em", "forgetting": 150}},
    }  # fmt: skip
    return {bundle.name: bundle for bundle in bundles(validate(values | changes))}


@pytest.mark.parametrize("experiment", ["synthetic", "change"])
@pytest.mark.parametrize("algorithm", ["online_em", "online_sga", "recursive_em"])
def test_at_once_is_one_by_one(experiment, algorithm):
    bundle = grid()[f"{experiment}/device~cuda/algorithm~{algorithm}/D~12/K~2/seeds~0-2"]
    cells = bundle.cells()[:: len(bundle.groups)]  # the seeds of the first group
    run = load(experiment)
    for cell, found in zip(cells, together.run_together(cells, "cpu"), strict=True):
        expected = list(run(cell, Path()))
        assert [(m.step, m.metric) for m in found] == [(m.step, m.metric) for m in expected]
        np.testing.assert_allclose(
            [m.value for m in found], [m.value for m in expected], rtol=1e-7, atol=1e-12
        )


def test_who_diverges_says_so_alone(monkeypatch):
    cells = grid()["synthetic/device~cuda/algorithm~online_sga/D~12/K~2/seeds~0-2"].cells()[::2]
    wild = dataclasses.replace(
        together.import_module(load("synthetic").__module__).trial_of(cells[1])
    )
    calm_stream = wild.stream
    wild = dataclasses.replace(wild, stream=lambda step: (1e8 * rows for rows in calm_stream(step)))
    build = together._new_model

    def with_a_wild_one(cells, trials, device):
        trials[1] = wild
        return build(cells, trials, device)

    monkeypatch.setattr(together, "_new_model", with_a_wild_one)
    found = together.run_together(cells, "cpu")
    # 100 observations of warm-up: the first measurement is fine, all later ones are lost.
    statuses = [{(m.step, m.status) for m in rows} for rows in found]
    assert statuses[1] == {(50, "ok"), (150, "diverged"), (400, "diverged")}
    assert statuses[0] == statuses[2] == {(50, "ok"), (150, "ok"), (400, "ok")}
    assert len({len(rows) for rows in found}) == 1


def test_the_device_concerns_those_who_can_use_it():
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
        for algorithm in ("online_em", "online_sga", "recursive_em")
    }
    for name in concerned:
        assert on_gpu[name].cells()[0].device == "cuda"
        assert on_gpu[name].code != on_cpu[name.replace("/device~cuda", "")].code
    for name in set(on_gpu) - concerned:
        assert on_gpu[name] == on_cpu[name]


def test_what_is_registered_is_what_it_is_called():
    assert {n: c.__name__ for n, c in batched._REGISTERED.items()} == {
        name: class_name(name) for name in batched._REGISTERED
    }


def test_a_missing_gpu_is_an_error_or_a_warning(monkeypatch, caplog):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    with pytest.raises(NoDevice, match=r"device: cuda, but PyTorch .* finds no GPU .*DEVICES=3"):
        resolve("cuda")
    assert resolve("auto") == "cpu"
    assert "device: auto is the CPU" in caplog.text
    assert resolve("cpu") == devices.describe("cpu") == "cpu"


def test_a_gpu_that_is_there_is_taken_and_named(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA A100")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert resolve("cuda") == resolve("auto") == "cuda"
    assert devices.describe("cuda") == "NVIDIA A100 (CUDA_VISIBLE_DEVICES=1)"


def test_a_job_fits_what_is_missing_of_each_group_at_once(monkeypatch, tmp_path):
    """With a GPU that is the CPU in disguise."""
    monkeypatch.setattr(devices, "resolve", lambda wanted: "meta" if wanted == "cuda" else "cpu")
    monkeypatch.setattr(devices, "describe", lambda device: f"a {device} device")
    batches = []

    def run_together(cells, device):
        batches.append([(cell.axes["spectrum"], cell.seed) for cell in cells])
        return together_on_cpu(cells, "cpu")

    together_on_cpu = together.run_together
    monkeypatch.setattr(together, "run_together", run_together)
    store, output = Store(tmp_path / "store"), tmp_path / "rows.parquet"
    for seeds in (1, 3):
        [bundle] = grid(
            change=None, synthetic=SYNTHETIC | {"algorithms": ["online_em"], "seeds": seeds}
        ).values()
        fitting.fit_bundle(bundle, store, tmp_path, output)
    assert batches == [
        [("1-10", 0)], [("1-100", 0)], [("1-100", 1), ("1-100", 2)], [("1-10", 1), ("1-10", 2)]
    ]  # fmt: skip
    cell = bundle.cells()[len(bundle.groups)]  # the second seed's first
    rows = store.get(cell.digest()).to_pylist()
    assert {(row["device"], row["seed"], row["status"]) for row in rows} == {
        ("a meta device", 1, "ok")
    }
