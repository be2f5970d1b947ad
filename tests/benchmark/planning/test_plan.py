"""Tests of the state of each cell in a plan after changes of configuration, code and files."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
from support.fitting import fit_all, replace_computation

from onlinefa_benchmark import cells
from onlinefa_benchmark.config.validation import validate
from onlinefa_benchmark.grid import bundles
from onlinefa_benchmark.measurement import Measurement
from onlinefa_benchmark.planning.forecast import Source
from onlinefa_benchmark.planning.plan import State, make_plan
from onlinefa_benchmark.storage.result_file import bundle_path
from onlinefa_benchmark.storage.schema import schema
from onlinefa_benchmark.storage.store import Store

pytestmark = pytest.mark.slow  # plans whole configurations

GRID = {
    "algorithms": ["diagonal", "online_sga"],
    "D": [4],
    "K": [2],
    "spectrum": [[1, 10], [1, 100]],
    "T": [5],
    "seeds": 3,
}
CELLS = 2 * 2 * 3  # algorithms x spectra x seeds


def config_of(settings=None, **changes):
    own = {key: changes.pop(key) for key in ("root_seed", "seeds_per_job") if key in changes}
    shared = {"root_seed": 0, "seeds_per_job": 3, "settings": settings or {}}
    return validate(shared | own | {"synthetic": GRID | changes})


@pytest.fixture
def broken(monkeypatch):
    """Replace fits, which take 10 s and more; return a set of seeds whose fits fail."""
    seeds = set()

    def run(cell):
        if cell.seed in seeds and cell.algorithm == "diagonal":
            raise RuntimeError("boom")
        for step, seconds in ((1, 5.0), (5, 10.0 + cell.seed)):
            yield Measurement(step, "relative_frobenius", 0.5, "ok", "", seconds)

    replace_computation(monkeypatch, run)
    return seeds


@pytest.fixture
def folder(broken, tmp_path):
    """Return the folder of a complete run."""
    fit_all(config_of(), tmp_path)
    return tmp_path


def states(config, folder):
    """Return the number of cells of each state, and everything that has changed."""
    counts, changes = {}, set()
    for planned in make_plan(bundles(config), folder).cells:
        counts[planned.state] = counts.get(planned.state, 0) + 1
        changes |= set(planned.changes)
    return counts, changes


def file_of(config, folder, number=0):
    return bundle_path(bundles(config)[number], folder / "cells")


def entry_of(config, folder, number=0):
    """Return the store's file of a cell of the first bundle."""
    return Store(folder / "store").path(bundles(config)[0].cells()[number].digest())


def test_without_results_all_cells_are_new(tmp_path):
    assert states(config_of(), tmp_path / "nowhere") == ({State.NEW: CELLS}, set())


def test_after_a_run_all_cells_are_up_to_date_and_the_store_is_not_read(folder, monkeypatch):
    for name in ("has", "get", "files"):
        monkeypatch.setattr(Store, name, None)
    assert states(config_of(), folder) == ({State.UP_TO_DATE: CELLS}, set())


def test_a_changed_setting_is_named(folder):
    changed = config_of({"online_sga": {"learning_rate": 0.5}})
    before = config_of().settings_of("online_sga")["learning_rate"]
    assert states(changed, folder) == (
        {State.UP_TO_DATE: 6, State.PARAMETERS: 6},
        {f"settings.learning_rate: {before} -> 0.5"},
    )


def test_a_change_is_detected_without_the_file_of_the_job(folder):
    """The file is missing after a run that was interrupted or that ended with a failure."""
    for number in (0, 1):
        file_of(config_of(), folder, number).unlink()
    expected = {State.PARAMETERS: CELLS}, {"T: [5] -> [5, 7]"}
    assert states(config_of(T=[5, 7]), folder) == expected
    assert states(config_of(T=[5, 7], seeds_per_job=2), folder) == expected


def test_changes_are_relative_to_the_latest_results(folder):
    fit_all(config_of(T=[7]), folder)
    fit_all(config_of(), folder)  # from the store, where these are the earlier results
    assert states(config_of(T=[9]), folder)[1] == {"T: [5] -> [9]"}


def test_added_and_removed_parameters_are_named(folder):
    values = {
        "root_seed": 0,
        "seeds_per_job": 3,
        "synthetic": GRID | {"algorithms": ["mine"]},
        "variants": {"mine": {"algorithm": "diagonal"}},
    }
    fit_all(validate(values), folder)
    values["variants"] = {"mine": {"algorithm": "online_sga", "warm_up": 9}}
    counts, changes = states(validate(values), folder)
    assert counts == {State.PARAMETERS: 6}
    rate = config_of().settings_of("online_sga")["learning_rate"]
    assert 'estimator: "diagonal" -> "online_sga"' in changes
    assert "settings.warm_up: none -> 9" in changes
    assert f"settings.learning_rate: none -> {rate}" in changes
    assert "settings: {} -> none" in changes
    assert "code" in changes


def test_changed_code_is_detected(folder, monkeypatch):
    code = cells._code

    def after_an_edit(modules):
        return "other" if "onlinefa.estimators.diagonal" in modules else code(modules)

    monkeypatch.setattr(cells, "_code", after_an_edit)
    assert states(config_of(), folder) == ({State.UP_TO_DATE: 6, State.CODE: 6}, set())
    assert states(config_of(root_seed=1), folder) == (
        {State.PARAMETERS: CELLS},
        {"root_seed: 0 -> 1", "code"},
    )


def without_identity(path):
    metadata = schema("synthetic").metadata
    pq.write_table(pq.ParquetFile(path).read().replace_schema_metadata(metadata), path)


def test_changes_of_results_without_identity_are_not_named(folder):
    for path in Store(folder / "store").files():
        without_identity(path)
    assert states(config_of(), folder) == ({State.UP_TO_DATE: CELLS}, set())
    assert states(config_of(T=[7]), folder) == ({State.CHANGED: CELLS}, set())
    file_of(config_of(), folder).unlink()
    assert states(config_of(), folder) == ({State.UP_TO_DATE: 6, State.IN_STORE: 6}, set())


def test_further_seeds_and_spectra_are_new_and_the_others_are_not(folder):
    assert states(config_of(seeds=4), folder)[0] == {State.UP_TO_DATE: 12, State.NEW: 4}
    in_one_job = config_of(seeds=4, seeds_per_job=4)  # in another file
    assert states(in_one_job, folder)[0] == {State.IN_STORE: 12, State.NEW: 4}
    wider = config_of(spectrum=[[1, 10], [1, 50], [1, 100]])
    assert states(wider, folder)[0] == {State.UP_TO_DATE: 12, State.NEW: 6}


def test_deleted_files_are_rebuilt_from_the_store_or_refitted(folder):
    file_of(config_of(), folder).unlink()
    assert states(config_of(), folder)[0] == {State.UP_TO_DATE: 6, State.IN_STORE: 6}
    entry_of(config_of(), folder).write_bytes(b"PAR1")
    assert states(config_of(), folder)[0] == {
        State.UP_TO_DATE: 6,
        State.IN_STORE: 5,
        State.MISSING: 1,
    }
    entry_of(config_of(), folder).unlink()  # no trace of the cell is left
    assert states(config_of(), folder)[0] == {
        State.UP_TO_DATE: 6,
        State.IN_STORE: 5,
        State.NEW: 1,
    }


def test_a_file_with_new_cells_is_rebuilt_from_the_store(folder):
    entry_of(config_of(), folder).unlink()
    assert states(config_of(), folder)[0] == {State.UP_TO_DATE: CELLS}
    wider = config_of(spectrum=[[1, 10], [1, 50], [1, 100]])
    assert states(wider, folder)[0] == {State.UP_TO_DATE: 11, State.MISSING: 1, State.NEW: 6}


def test_a_damaged_file_is_named(folder):
    path = file_of(config_of(), folder)
    path.write_bytes(b"")
    found = make_plan(bundles(config_of()), folder)
    (damage,) = found.damages
    assert damage.startswith(f"{path}: not a readable Parquet file")
    assert states(config_of(), folder)[0] == {State.UP_TO_DATE: 6, State.IN_STORE: 6}
    entry_of(config_of(), folder).unlink()
    assert states(config_of(), folder)[0][State.MISSING] == 1


@pytest.mark.parametrize("is_forgotten", [False, True])
def test_failed_cells_are_tried_again(broken, tmp_path, is_forgotten):
    broken.add(1)
    fit_all(config_of(), tmp_path)
    if is_forgotten:  # Snakemake deletes it when a run ends with an error
        file_of(config_of(), tmp_path).unlink()
    kept = {State.UP_TO_DATE: 6, State.IN_STORE: 4} if is_forgotten else {State.UP_TO_DATE: 10}
    assert states(config_of(), tmp_path)[0] == kept | {State.FAILED: 2}
    # Changed settings take precedence over failures.
    assert states(config_of(T=[7]), tmp_path) == ({State.PARAMETERS: 12}, {"T: [5] -> [7]"})
    broken.clear()
    fit_all(config_of(), tmp_path)
    assert states(config_of(), tmp_path)[0] == {State.UP_TO_DATE: CELLS}
    assert not Store(tmp_path / "store").failures()


def test_files_of_jobs_have_no_identity_of_a_cell(folder):
    file_of(config_of(), folder).unlink()
    fit_all(config_of(), folder)  # from the store
    for path in (folder / "cells").rglob("*.parquet"):
        assert pq.read_schema(path).equals(schema("synthetic"), check_metadata=True)


def test_estimated_seconds_are_those_of_the_most_similar_cells(folder):
    more = config_of(seeds=4, D=[4, 6], algorithms=["diagonal", "online_sga", "swag"])
    fits = [found for found in make_plan(bundles(more), folder).cells if found.source]
    by_source = {source: [] for source in Source}
    for found in fits:
        by_source[found.source].append(found.seconds)
    # Seed s took 10 + s seconds, so that all medians are 11. Seed 3 of D = 4; all of D = 6; SWAG.
    assert by_source[Source.GROUP] == [11] * 4
    assert by_source[Source.ALGORITHM] == [11] * (2 * 2 * 4)
    estimated = by_source[Source.EXPERIMENT]
    # A fifth of a second, and 1e-8 a number: 5 observations of 4 or 6 columns and 10 factors.
    assert sorted(set(estimated)) == pytest.approx([0.2 + 2e-6, 0.2 + 3e-6], rel=1e-12)
    assert len(estimated) == 2 * 2 * 4
