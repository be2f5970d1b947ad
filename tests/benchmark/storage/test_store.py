"""Tests of the store: no cell is fitted twice, and no damaged entry is used."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
from support.small_jobs import FakeFits, bundle_of, fit

from onlinefa_benchmark import cells
from onlinefa_benchmark.storage.store import Store

BUNDLE = bundle_of(0, 1, 2)


@pytest.fixture
def fits(monkeypatch):
    return FakeFits(monkeypatch)


def test_finished_cells_are_not_refitted_in_other_bundles(fits, tmp_path):
    fit(BUNDLE, tmp_path)
    for seeds in [(0,), (1, 2), (0, 1, 2)]:
        fit(bundle_of(*seeds), tmp_path)
    assert fits.seeds == [0, 1, 2]
    fit(bundle_of(0, 1, 2, 3), tmp_path)
    assert fits.seeds == [0, 1, 2, 3]


def test_concurrent_jobs_share_cells(fits, tmp_path):
    fit(bundle_of(0), tmp_path)

    def run_another_job(cell):
        """Fit seed 1 in another job while this one fits seed 2."""
        if cell.seed == 2:
            fit(bundle_of(1), tmp_path)

    fits.before = run_another_job
    rows = pq.read_table(fit(BUNDLE, tmp_path))
    assert fits.seeds == [0, 1, 2]
    assert rows["seed"].to_pylist() == [0, 1, 2]


def test_returning_to_an_earlier_setting_fits_nothing(fits, tmp_path):
    first = pq.read_table(fit(BUNDLE, tmp_path))
    fit(bundle_of(0, 1, 2, T=[7]), tmp_path)
    assert pq.read_table(fit(BUNDLE, tmp_path)).equals(first)
    assert fits.seeds == [0, 1, 2] * 2


def test_cells_are_refitted_if_code_changes(fits, tmp_path, monkeypatch):
    fit(BUNDLE, tmp_path)
    monkeypatch.setattr(cells, "_code", lambda *_: "other code")
    fit(BUNDLE, tmp_path)
    assert len(fits.seeds) == 6


def test_a_damaged_entry_is_fitted_again(fits, tmp_path):
    fit(BUNDLE, tmp_path)
    path = Store(tmp_path / "store").path(BUNDLE.cells()[1].digest())
    path.write_bytes(path.read_bytes()[:100])
    fit(BUNDLE, tmp_path)
    assert fits.seeds == [0, 1, 2, 1]


def test_an_entry_with_rows_of_another_cell_is_fitted_again(fits, tmp_path):
    fit(BUNDLE, tmp_path)
    one, other = (Store(tmp_path / "store").path(cell.digest()) for cell in BUNDLE.cells()[:2])
    other.write_bytes(one.read_bytes())
    rows = pq.read_table(fit(BUNDLE, tmp_path))
    assert fits.seeds == [0, 1, 2, 1]
    assert sorted(rows["seed"].to_pylist()) == [0, 1, 2]


def test_a_failure_is_stored_separately_until_the_cell_is_finished(fits, tmp_path):
    store, digest = Store(tmp_path / "store"), BUNDLE.cells()[1].digest()
    fits.error = RuntimeError("boom")
    fit(BUNDLE, tmp_path)
    assert store.get(digest) is None
    assert not store.has(digest)
    assert store.get_finished_or_failed(digest)["status"].to_pylist() == ["failed"]
    assert store.failures() == [store.failure(digest)]
    assert len(store.files()) == 3
    fits.error = None
    fit(BUNDLE, tmp_path)
    assert store.has(digest)
    assert store.get_finished_or_failed(digest)["status"].to_pylist() == ["ok"]
    assert store.failures() == []
    assert len(store.files()) == 3
