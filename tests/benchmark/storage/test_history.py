"""Tests of the history of fits, from the store and from the files of jobs."""

from __future__ import annotations

import os

import pyarrow.parquet as pq
import pytest
from support.small_jobs import FakeFits, bundle_of, fit

from onlinefa_benchmark.storage import history
from onlinefa_benchmark.storage.schema import key_values
from onlinefa_benchmark.storage.store import Store

BUNDLE = bundle_of(0, 1, 2)


@pytest.fixture
def fits(monkeypatch):
    return FakeFits(monkeypatch)


def test_the_store_has_the_identity_and_seconds_of_each_fit(fits, tmp_path):
    fits.error = RuntimeError("boom")
    fit(BUNDLE, tmp_path)
    found = {one.digest: one for one in history.read_store(Store(tmp_path / "store"))}
    assert found.keys() == {cell.digest() for cell in BUNDLE.cells()}
    for cell in BUNDLE.cells():
        one = found[cell.digest()]
        assert one.keys == key_values(cell)
        assert one.seconds == (None if cell.seed == 1 else 0.1)
        assert one.identity == history.Identity(cell.parameters, cell.code)


def test_fits_of_a_store_are_sorted_by_time(fits, tmp_path):
    fit(BUNDLE, tmp_path)
    store, cells = Store(tmp_path / "store"), BUNDLE.cells()
    for time, number in enumerate((1, 2, 0)):
        os.utime(store.path(cells[number].digest()), (time, time))
    found = [one.digest for one in history.read_store(store)]
    assert found == [cells[number].digest() for number in (1, 2, 0)]


def test_the_file_of_a_job_has_the_keys_and_seconds_of_its_cells(fits, tmp_path):
    fits.error = RuntimeError("boom")
    found = history.read_job_file(fit(BUNDLE, tmp_path))
    expected = [
        history.EarlierFit(
            cell.digest(), key_values(cell), None if cell.seed == 1 else 0.1, identity=None
        )
        for cell in BUNDLE.cells()
    ]
    assert found == expected


def test_damaged_files_are_skipped(fits, tmp_path):
    path, store = fit(BUNDLE, tmp_path), Store(tmp_path / "store")
    entry = store.path(BUNDLE.cells()[0].digest())
    entry.write_bytes(entry.read_bytes()[:100])
    path.write_bytes(path.read_bytes()[:100])
    assert len(list(history.read_store(store))) == 2
    assert history.read_entry(entry) is None
    assert history.read_job_file(path) == []


def test_an_entry_without_an_identity_is_skipped(fits, tmp_path):
    fit(BUNDLE, tmp_path)
    entry = Store(tmp_path / "store").path(BUNDLE.cells()[0].digest())
    table = pq.ParquetFile(entry).read()
    pq.write_table(table.replace_schema_metadata({}), entry)
    assert history.read_entry(entry) is None


def test_nested_parameters_are_flattened():
    parameters = {"settings": {"learning_rate": 0.1, "none": {}}, "T": [5, 7], "name": "x"}
    assert history.flatten(parameters) == {
        "settings.learning_rate": "0.1",
        "settings.none": "{}",
        "T": "[5, 7]",
        "name": '"x"',
    }
