"""Tests of fit jobs: a failed cell is a row, and does not affect other cells."""

from __future__ import annotations

import errno

import pyarrow.parquet as pq
import pytest
from support.small_jobs import FakeFits, bundle_of, fit

from onlinefa_benchmark.datasets.base import DataUnavailable
from onlinefa_benchmark.execution.fit import OutOfMemory, new_context
from onlinefa_benchmark.storage.result_file import bundle_path
from onlinefa_benchmark.storage.schema import FAILED, schema

BUNDLE = bundle_of(0, 1, 2)


@pytest.fixture
def fits(monkeypatch):
    return FakeFits(monkeypatch)


def finished_seeds(tmp_path):
    paths = (tmp_path / "store").glob("*/*.parquet")
    return {seed for path in paths for seed in pq.read_table(path)["seed"].to_pylist()}


def test_a_failing_cell_is_recorded_as_failed_and_others_keep_their_results(fits, tmp_path):
    fits.error = RuntimeError("boom\nand more")
    rows = pq.read_table(fit(BUNDLE, tmp_path, is_last_attempt=False))
    assert rows.schema.equals(schema("synthetic"), check_metadata=True)
    assert rows["status"].to_pylist() == ["ok", "failed", "ok"]
    row = rows.to_pylist()[1]
    assert (row["seed"], row["step"], row["metric"], row["value"]) == (1, 0, FAILED, None)
    assert (row["algorithm"], row["spectrum"]) == ("diagonal", "1-10")
    assert row["host"] and "numpy" in row["versions"]
    first, *details = row["message"].splitlines()
    assert first == "RuntimeError: boom"
    assert any("raise self.error" in line for line in details)
    assert details[-2:] == ["RuntimeError: boom", "and more"]


def test_only_failed_cells_are_refitted(fits, tmp_path):
    fits.error = RuntimeError("boom")
    fit(BUNDLE, tmp_path)
    assert finished_seeds(tmp_path) == {0, 2}
    fits.error = None
    assert set(pq.read_table(fit(BUNDLE, tmp_path))["status"].to_pylist()) == {"ok"}
    assert fits.seeds == [0, 2, 1]


def test_a_cell_whose_process_was_killed_is_recorded_as_failed_and_not_fitted(fits, tmp_path):
    digest = BUNDLE.cells()[1].digest()
    rows = pq.read_table(fit(BUNDLE, tmp_path, killed={digest: "killed by signal 9"}))
    assert rows["status"].to_pylist() == ["ok", "failed", "ok"]
    assert rows["message"].to_pylist()[1] == "killed by signal 9"
    assert fits.seeds == [0, 2]


def test_the_parent_process_is_notified_of_started_cells(fits, tmp_path):
    begun = []
    fits.error = RuntimeError("boom")
    fit(BUNDLE, tmp_path, begin=lambda digests: begun.append(list(digests)))
    expected = [[cell.digest()] for cell in BUNDLE.cells()]
    assert begun == [expected[0], [], expected[1], [], expected[2], []]


class OutOfMemoryError(RuntimeError):
    """An error with the name of PyTorch's own."""


def caused_by(cause):
    error = RuntimeError("the fit failed")
    error.__cause__ = cause
    return error


NO_MEMORY = [
    MemoryError(),
    OutOfMemoryError("CUDA out of memory."),
    RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"),
    OSError(errno.ENOMEM, "Cannot allocate memory"),
    caused_by(MemoryError()),
]


@pytest.mark.parametrize("error", NO_MEMORY, ids=repr)
def test_a_lack_of_memory_fails_the_job_unless_it_is_the_last_attempt(fits, tmp_path, error):
    fits.error = error
    with pytest.raises(OutOfMemory, match=r"out of memory: .*, seed 1$"):
        fit(BUNDLE, tmp_path, is_last_attempt=False)
    assert not bundle_path(BUNDLE, tmp_path / "cells").exists()
    assert finished_seeds(tmp_path) == {0, 2}
    rows = pq.read_table(fit(BUNDLE, tmp_path, is_last_attempt=True))
    assert rows["status"].to_pylist() == ["ok", "failed", "ok"]


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left"), caused_by(OSError(errno.EIO, "I/O error"))]
)
def test_a_fault_of_the_machine_fails_the_job(fits, tmp_path, error):
    fits.error = error
    with pytest.raises(type(error)):
        fit(BUNDLE, tmp_path, is_last_attempt=True)
    assert not bundle_path(BUNDLE, tmp_path / "cells").exists()


def test_the_context_reads_images_and_weights_from_the_folder_of_fetched_data(tmp_path):
    context = new_context(BUNDLE.cells()[:1], tmp_path)
    assert len(context.read_images("digits").labels) == 1797
    with pytest.raises(DataUnavailable, match=f"{tmp_path / 'mnist.npy'}: does not exist"):
        context.read_images("mnist")
    with pytest.raises(DataUnavailable, match=f"{tmp_path / 'efficientnet_lite0.pth'}: does not"):
        context.weights_path("efficientnet_lite0")
