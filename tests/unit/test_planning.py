"""What a plan says of each cell, after everything that can become of results."""

from __future__ import annotations

import subprocess
import sys

import pyarrow.parquet as pq
import pytest
import yaml

from onlinefa import cell, configfiles, experiments, results
from onlinefa.__main__ import main
from onlinefa.config import EXPERIMENTS, Config
from onlinefa.experiments.tracking import Measurement
from onlinefa.fitting import fit_bundle
from onlinefa.forecast import Source
from onlinefa.grid import bundles
from onlinefa.planning import State, plan
from onlinefa.results import Store
from onlinefa.validation import ConfigError

GRID = {
    "algorithms": ["diagonal", "online_sga"], "D": [4], "K": [2], "spectrum": [[1, 10], [1, 100]],
    "T": [5], "seeds": 3,
}  # fmt: skip
CELLS = 2 * 2 * 3  # algorithms x spectra x seeds


def config_of(settings=None, **changes):
    own = {key: changes.pop(key) for key in ("root_seed", "seeds_per_job") if key in changes}
    shared = {"root_seed": 0, "seeds_per_job": 3, "settings": settings or {}}
    return Config(**shared | own, synthetic=GRID | changes)


@pytest.fixture
def broken(monkeypatch):
    """Fits take 10 s and more, by what they say; those of the seeds in this set fail."""
    seeds = set()

    def run(one, tables):
        if one.seed in seeds and one.algorithm == "diagonal":
            raise RuntimeError("boom")
        for step, seconds in ((1, 5.0), (5, 10.0 + one.seed)):
            yield Measurement(step, "relative_frobenius", 0.5, "ok", "", seconds)

    monkeypatch.setattr(experiments, "load", lambda name: run)
    return seeds


@pytest.fixture
def folder(broken, tmp_path):
    """The results of a run of everything."""
    fit(config_of(), tmp_path)
    return tmp_path


def fit(config, folder):
    for bundle in bundles(config):
        output = results.bundle_path(bundle, folder / "cells")
        fit_bundle(bundle, Store(folder / "store"), folder, output)


def states(config, folder):
    """How many cells are what, and everything that has changed."""
    counts, changes = {}, set()
    for planned in plan(bundles(config), folder).cells:
        counts[planned.state] = counts.get(planned.state, 0) + 1
        changes |= set(planned.changes)
    return counts, changes


def file_of(config, folder, number=0):
    return results.bundle_path(bundles(config)[number], folder / "cells")


def entry_of(config, folder, number=0):
    """The store's file of one of the first bundle's cells."""
    return Store(folder / "store").path(bundles(config)[0].cells()[number].digest())


def test_without_results_all_cells_are_new(tmp_path):
    assert states(config_of(), tmp_path / "nowhere") == ({State.NEW: CELLS}, set())


def test_after_a_run_all_is_up_to_date_and_the_store_is_not_read(folder, monkeypatch):
    for name in ("has", "get", "files"):
        monkeypatch.setattr(Store, name, None)
    assert states(config_of(), folder) == ({State.UP_TO_DATE: CELLS}, set())


def test_a_changed_setting_names_itself(folder):
    changed = config_of({"online_sga": {"learning_rate": 0.5}})
    before = config_of().settings_of("online_sga")["learning_rate"]
    assert states(changed, folder) == (
        {State.UP_TO_DATE: 6, State.PARAMETERS: 6},
        {f"settings.learning_rate: {before} -> 0.5"},
    )


def test_a_change_is_seen_without_the_file_that_was_in_use(folder):
    """As after a run that was interrupted, or that ended with a failure."""
    for number in (0, 1):
        file_of(config_of(), folder, number).unlink()
    expected = {State.PARAMETERS: CELLS}, {"T: [5] -> [5, 7]"}
    assert states(config_of(T=[5, 7]), folder) == expected
    assert states(config_of(T=[5, 7], seeds_per_job=2), folder) == expected


def test_the_change_is_from_what_was_in_use(folder):
    fit(config_of(T=[7]), folder)
    fit(config_of(), folder)  # from the store, which has it as the earlier of two
    assert states(config_of(T=[9]), folder)[1] == {"T: [5] -> [9]"}


def test_what_is_added_or_taken_away_among_parameters(folder):
    values = {
        "root_seed": 0, "seeds_per_job": 3, "synthetic": GRID | {"algorithms": ["mine"]},
        "variants": {"mine": {"algorithm": "diagonal"}},
    }  # fmt: skip
    fit(Config(**values), folder)
    values["variants"] = {"mine": {"algorithm": "online_sga", "warm_up": 9}}
    counts, changes = states(Config(**values), folder)
    assert counts == {State.PARAMETERS: 6}
    rate = config_of().settings_of("online_sga")["learning_rate"]
    assert 'estimator: "diagonal" -> "online_sga"' in changes
    assert "settings.warm_up: none -> 9" in changes
    assert f"settings.learning_rate: none -> {rate}" in changes
    assert "settings: {} -> none" in changes
    assert "code" in changes


def test_changed_code(folder, monkeypatch):
    code = cell._code
    monkeypatch.setattr(
        cell,
        "_code",
        lambda _, name, *more: "other" if name == "diagonal" else code(_, name, *more),
    )
    assert states(config_of(), folder) == ({State.UP_TO_DATE: 6, State.CODE: 6}, set())
    assert states(config_of(root_seed=1), folder) == (
        {State.PARAMETERS: CELLS},
        {"root_seed: 0 -> 1", "code"},
    )


def without_identity(path):
    pq.write_table(
        pq.ParquetFile(path).read().replace_schema_metadata(results.SCHEMA.metadata), path
    )


def test_results_that_do_not_say_what_they_were(folder):
    for path in Store(folder / "store").files():
        without_identity(path)
    assert states(config_of(), folder) == ({State.UP_TO_DATE: CELLS}, set())
    assert states(config_of(T=[7]), folder) == ({State.CHANGED: CELLS}, set())
    file_of(config_of(), folder).unlink()
    assert states(config_of(), folder) == ({State.UP_TO_DATE: 6, State.IN_STORE: 6}, set())


def test_further_seeds_and_spectra_are_new_and_the_others_are_not(folder):
    assert states(config_of(seeds=4), folder)[0] == {State.UP_TO_DATE: 12, State.NEW: 4}
    in_one_job = config_of(seeds=4, seeds_per_job=4)  # which is another file
    assert states(in_one_job, folder)[0] == {State.IN_STORE: 12, State.NEW: 4}
    wider = config_of(spectrum=[[1, 10], [1, 50], [1, 100]])
    assert states(wider, folder)[0] == {State.UP_TO_DATE: 12, State.NEW: 6}


def test_what_is_deleted_is_put_together_or_fitted_again(folder):
    file_of(config_of(), folder).unlink()
    assert states(config_of(), folder)[0] == {State.UP_TO_DATE: 6, State.IN_STORE: 6}
    entry_of(config_of(), folder).write_bytes(b"PAR1")
    assert states(config_of(), folder)[0] == {
        State.UP_TO_DATE: 6, State.IN_STORE: 5, State.MISSING: 1,
    }  # fmt: skip
    entry_of(config_of(), folder).unlink()  # and nothing knows any more that it was there
    assert states(config_of(), folder)[0] == {
        State.UP_TO_DATE: 6, State.IN_STORE: 5, State.NEW: 1,
    }  # fmt: skip


def test_a_file_that_has_to_be_made_anew_needs_the_store(folder):
    entry_of(config_of(), folder).unlink()
    assert states(config_of(), folder)[0] == {State.UP_TO_DATE: CELLS}
    wider = config_of(spectrum=[[1, 10], [1, 50], [1, 100]])
    assert states(wider, folder)[0] == {State.UP_TO_DATE: 11, State.MISSING: 1, State.NEW: 6}


def test_a_damaged_file_is_named(folder):
    path = file_of(config_of(), folder)
    path.write_bytes(b"")
    found = plan(bundles(config_of()), folder)
    (damage,) = found.damages
    assert damage.startswith(f"{path}: not a readable Parquet file")
    assert states(config_of(), folder)[0] == {State.UP_TO_DATE: 6, State.IN_STORE: 6}
    entry_of(config_of(), folder).unlink()
    assert states(config_of(), folder)[0][State.MISSING] == 1


@pytest.mark.parametrize("is_forgotten", [False, True])
def test_failed_cells_are_tried_again(broken, tmp_path, is_forgotten):
    broken.add(1)
    fit(config_of(), tmp_path)
    if is_forgotten:  # as Snakemake does when a run ends with an error
        file_of(config_of(), tmp_path).unlink()
    kept = {State.UP_TO_DATE: 6, State.IN_STORE: 4} if is_forgotten else {State.UP_TO_DATE: 10}
    assert states(config_of(), tmp_path)[0] == kept | {State.FAILED: 2}
    # With other settings there is more to say.
    assert states(config_of(T=[7]), tmp_path) == ({State.PARAMETERS: 12}, {"T: [5] -> [7]"})
    broken.clear()
    fit(config_of(), tmp_path)
    assert states(config_of(), tmp_path)[0] == {State.UP_TO_DATE: CELLS}
    assert not Store(tmp_path / "store").failures()


def test_a_bundle_does_not_pass_for_one_of_its_cells(folder):
    file_of(config_of(), folder).unlink()
    fit(config_of(), folder)  # from the store
    for path in (folder / "cells").rglob("*.parquet"):
        assert pq.read_schema(path).equals(results.SCHEMA, check_metadata=True)


def test_seconds_are_those_of_what_is_most_alike(folder):
    more = config_of(seeds=4, D=[4, 6], algorithms=["diagonal", "online_sga", "swag"])
    fits = [found for found in plan(bundles(more), folder).cells if found.source]
    by_source = {source: [] for source in Source}
    for found in fits:
        by_source[found.source].append(found.seconds)
    # Seed s took 10 + s seconds, so that all medians are 11. Seed 3 of D = 4; all of D = 6; SWAG.
    assert by_source[Source.GROUP] == [11] * 4
    assert by_source[Source.ALGORITHM] == [11] * (2 * 2 * 4)
    thumb = by_source[Source.THUMB]
    # A fifth of a second, and 1e-8 a number: 5 observations of 4 or 6 columns and 10 factors.
    assert sorted(set(thumb)) == pytest.approx([0.2 + 2e-6, 0.2 + 3e-6], rel=1e-12)
    assert len(thumb) == 2 * 2 * 4


def written(tmp_path, **values):
    file = tmp_path / "small.yaml"
    file.write_text(yaml.safe_dump(dict.fromkeys(EXPERIMENTS) | values))
    return str(file)


def told(capsys, *arguments):
    assert main(["plan", *map(str, arguments)]) == 0
    return capsys.readouterr().out.splitlines()


SETTINGS = {
    name: {"steps": 2000} for name in ("mean_field", "vifa")
}  # defaults: no import for them


def test_the_command_tells_it_in_a_table(broken, tmp_path, capsys):
    file = written(tmp_path, synthetic=GRID | {"seeds": 4}, settings=SETTINGS)
    arguments = ["--configfile", file, "--results", tmp_path]
    fit(configfiles.read([file], ["seeds_per_job=2"]), tmp_path)
    lines = told(capsys, *arguments, "--config", "seeds_per_job=2", "root_seed=7")
    header = "experiment  algorithm   cells  up to date  in store  to fit  parameters changed"
    assert lines[0] == header
    assert [line.split() for line in lines[1:4]] == [
        ["synthetic", "diagonal", "8", "0", "0", "8", "8"],
        ["synthetic", "online_sga", "8", "0", "0", "8", "8"],
        ["all", "16", "0", "0", "16", "16"],
    ]
    assert lines[1].index(" 8") == lines[2].index(" 8") == lines[3].index("16")
    assert "root_seed: 2021 -> 7 (16 cells: synthetic diagonal, online_sga)" in lines
    # Medians of 10, 11, 12 and 13 s: 16 x 11.5 s are 0.0511 hours.
    assert (
        "16 cells to fit, about 0.051 core-hours of fitting: "
        "16 by earlier fits of the same group of seeds."
    ) in lines
    assert lines[-1].endswith(
        f": snakemake -n --quiet rules --configfile {file} --config seeds_per_job=2 root_seed=7"
    )
    lines = told(capsys, *arguments, "--config", "seeds_per_job=2")
    assert "Nothing to fit." in lines
    lines = told(capsys, *arguments)
    assert "in store: fitted before, and only put together again" in lines


def test_files_are_merged_as_snakemake_does(tmp_path):
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    none = dict.fromkeys(EXPERIMENTS)
    first.write_text(yaml.safe_dump(none | {"settings": SETTINGS, "seeds_per_job": 7}))
    second.write_text("synthetic: {seeds: 1, D: [50]}\n")
    config = configfiles.read([str(first), str(second)])
    # The first file's null is gone once they are merged, and the default's values are below both.
    default = yaml.safe_load(configfiles.DEFAULT.read_text())
    assert config.synthetic.algorithms == default["synthetic"]["algorithms"]
    assert (config.synthetic.seeds, config.synthetic.D) == ([0], [50])
    assert (config.linear, config.seeds_per_job) == (None, 7)
    assert config.root_seed == default["root_seed"]


BAD = {
    "nothing there": (None, "absent.yaml", 1),
    "not YAML": ("a: [", "bad.yaml", 1),
    "empty": ("", "bad.yaml", 1),
    "two mistakes": ("seeds_per_job: 0\nsynthetic: {sed: 3}\n", "bad.yaml", 2),
}


@pytest.mark.parametrize(("text", "name", "mistakes"), BAD.values(), ids=BAD)
def test_mistakes_are_a_line_each(tmp_path, capsys, text, name, mistakes):
    file = tmp_path / name
    if text is not None:
        file.write_text(text)
    assert main(["plan", "--configfile", str(file), "--results", str(tmp_path)]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    lines = told.err.splitlines()
    assert len(lines) == mistakes
    assert all(str(file) in line for line in lines)


@pytest.mark.parametrize("value", ["seeds_per_job", "seeds_per_job=[", "sed=1"])
def test_a_mistake_in_a_single_value_is_a_line(value):
    with pytest.raises(ConfigError, match=r"^--config: .*$"):
        configfiles.read([], [value])


def test_neither_command_imports_what_fits(broken, tmp_path):
    fit(config_of(), tmp_path)
    file = written(tmp_path, synthetic=GRID, settings=SETTINGS)
    code = (
        "import sys; from onlinefa.__main__ import main; "
        f"status = main(['plan', '--configfile', {file!r}, '--results', {str(tmp_path)!r}]); "
        "status += main(['show', 'synthetic/algorithm~diagonal/spectrum~1-10/seed~0', "
        f"'--results', {str(tmp_path)!r}]); "
        "heavy = {'torch', 'sklearn', 'numba', 'pandas'} & set(sys.modules); "
        "sys.exit(status or ', '.join(sorted(heavy)) or 0)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert "relative_frobenius" in run.stdout
