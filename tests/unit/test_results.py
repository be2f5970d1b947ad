"""Parquet files and the store: nothing half-written is taken for a result."""

from __future__ import annotations

import errno

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onlinefa import cell, experiments, results
from onlinefa.__main__ import main
from onlinefa.cell import Bundle, Group
from onlinefa.config import Config
from onlinefa.experiments.tracking import Measurement
from onlinefa.failing import LONGEST, message, message_of
from onlinefa.files import atomic
from onlinefa.fitting import OutOfMemory, fit_bundle
from onlinefa.grid import bundles
from onlinefa.results import ResultError, Store

AXES = {"algorithm": "diagonal", "D": 4, "K": 2, "spectrum": "1-10"}
PARAMETERS = {
    "dataset": "algorithm_3",
    "root_seed": 0,
    "spectrum": [1, 10],
    "T": [5],
    "settings": {},
}


def bundle_of(*seeds, **parameters):
    return Bundle("synthetic", AXES, (Group(AXES, PARAMETERS | parameters),), seeds)


BUNDLE = bundle_of(0, 1, 2)


@pytest.fixture
def fitted(monkeypatch):
    """Counts fits; fitting seed 1 fails while `broken` is an exception."""
    seeds = []

    class Experiment:
        broken = None

        def run(self, one, tables):
            if self.broken and one.seed == 1:
                raise self.broken
            seeds.append(one.seed)
            yield Measurement(5, "relative_frobenius", 0.5 + one.seed, "ok", "", 0.1)

    experiment = Experiment()
    experiment.seeds = seeds
    monkeypatch.setattr(experiments, "load", lambda name: experiment.run)
    return experiment


def fit(bundle, tmp_path, **options):
    output = results.bundle_path(bundle, tmp_path / "cells")
    fit_bundle(bundle, Store(tmp_path / "store"), tmp_path, output, **options)
    return output


def test_rows_have_the_schema_and_the_keys(fitted, tmp_path):
    table = pq.read_table(fit(BUNDLE, tmp_path))
    assert table.schema.names == results.SCHEMA.names
    assert table.schema.metadata[b"onlinefa_schema"] == results.SCHEMA_VERSION.encode()
    row = table.to_pylist()[1]
    assert row["experiment"] == "synthetic"
    assert (row["algorithm"], row["D"], row["K"], row["spectrum"]) == ("diagonal", 4, 2, "1-10")
    assert (row["seed"], row["step"], row["value"], row["status"]) == (1, 5, 1.5, "ok")
    assert row["peak_memory_mb"] > 1
    assert row["host"]
    assert "numpy" in row["versions"]


def test_rows_are_the_bits_that_were_measured():
    """As pyarrow has them when it is given Python's own values, without what a row has no place
    for."""
    random = np.random.default_rng(0).integers(0, 2**63, 1000, dtype=np.uint64).view(float)
    values = [0.1, -0.0, 5e-324, np.float64(1 / 3), np.float32(0.1), 3, None, *random.tolist()]
    rows = [
        {"experiment": 'a "line"\nand ü\u2028', "D": 2**63 - 1, "value": value, "elsewhere": []}
        for value in values
        if value is None or np.isfinite(value)
    ]
    rows[0]["message"] = "long" * 10**6
    expected = pa.Table.from_pylist(rows, results.SCHEMA)
    assert results._of_rows(rows).equals(expected, check_metadata=True)
    signs = np.signbit(results._of_rows(rows)["value"].to_numpy())
    assert np.array_equal(signs, np.signbit(expected["value"].to_numpy()))
    assert results._of_rows([]).equals(results.SCHEMA.empty_table(), check_metadata=True)


def test_finished_cells_are_not_fitted_again_however_they_are_bundled(fitted, tmp_path):
    fit(BUNDLE, tmp_path)
    for seeds in [(0,), (1, 2), (0, 1, 2)]:
        fit(bundle_of(*seeds), tmp_path)
    assert fitted.seeds == [0, 1, 2]
    fit(bundle_of(0, 1, 2, 3), tmp_path)
    assert fitted.seeds == [0, 1, 2, 3]


def test_two_jobs_with_the_same_cells_share_them(fitted, tmp_path, monkeypatch):
    fit(bundle_of(0), tmp_path)
    run = fitted.run

    def beside_another_job(one, tables):
        """The job that has fitted seed 0 goes on to seed 1, while this one is at its first."""
        if one.seed == 2:
            fit(bundle_of(1), tmp_path)
        return run(one, tables)

    monkeypatch.setattr(experiments, "load", lambda name: beside_another_job)
    rows = pq.read_table(fit(BUNDLE, tmp_path))
    assert fitted.seeds == [0, 1, 2]
    assert rows["seed"].to_pylist() == [0, 1, 2]


def test_going_back_to_an_earlier_setting_is_free(fitted, tmp_path):
    other = bundle_of(0, 1, 2, T=[7])
    first = pq.read_table(fit(BUNDLE, tmp_path))
    fit(other, tmp_path)
    assert pq.read_table(fit(BUNDLE, tmp_path)).equals(first)
    assert fitted.seeds == [0, 1, 2] * 2


def test_other_code_is_another_result(fitted, tmp_path, monkeypatch):
    fit(BUNDLE, tmp_path)
    monkeypatch.setattr(cell, "_code", lambda *_: "other code")
    fit(BUNDLE, tmp_path)
    assert len(fitted.seeds) == 6


def in_store(tmp_path):
    """The seeds of finished cells."""
    paths = (tmp_path / "store").glob("*/*.parquet")
    return {seed for path in paths for seed in pq.read_table(path)["seed"].to_pylist()}


def test_a_failing_cell_is_a_row_and_costs_no_other_its_result(fitted, tmp_path):
    fitted.broken = RuntimeError("boom\nand more")
    rows = pq.read_table(fit(BUNDLE, tmp_path, is_last_attempt=False))
    assert rows.schema.equals(results.SCHEMA, check_metadata=True)
    assert rows["status"].to_pylist() == ["ok", "failed", "ok"]
    row = rows.to_pylist()[1]
    assert (row["seed"], row["step"], row["metric"], row["value"]) == (1, 0, results.FAILED, None)
    assert (row["algorithm"], row["spectrum"]) == ("diagonal", "1-10")
    assert row["host"] and "numpy" in row["versions"]
    first, *details = row["message"].splitlines()
    assert first == "RuntimeError: boom"
    assert any("raise self.broken" in line for line in details)
    assert details[-2:] == ["RuntimeError: boom", "and more"]


def test_a_failed_cell_is_fitted_again_and_no_other(fitted, tmp_path):
    fitted.broken = RuntimeError("boom")
    fit(BUNDLE, tmp_path)
    assert in_store(tmp_path) == {0, 2}
    fitted.broken = None
    assert set(pq.read_table(fit(BUNDLE, tmp_path))["status"].to_pylist()) == {"ok"}
    assert fitted.seeds == [0, 2, 1]


class OutOfMemoryError(RuntimeError):
    """As PyTorch calls its own."""


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
def test_want_of_memory_fails_the_job_unless_it_is_the_last_attempt(fitted, tmp_path, error):
    fitted.broken = error
    with pytest.raises(OutOfMemory, match=r"out of memory: .*, seed 1$"):
        fit(BUNDLE, tmp_path, is_last_attempt=False)
    assert not results.bundle_path(BUNDLE, tmp_path / "cells").exists()
    assert in_store(tmp_path) == {0, 2}
    rows = pq.read_table(fit(BUNDLE, tmp_path, is_last_attempt=True))
    assert rows["status"].to_pylist() == ["ok", "failed", "ok"]


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left"), caused_by(OSError(errno.EIO, "I/O error"))]
)
def test_what_is_wrong_with_the_machine_fails_the_job(fitted, tmp_path, error):
    fitted.broken = error
    with pytest.raises(type(error)):
        fit(BUNDLE, tmp_path, is_last_attempt=True)
    assert not results.bundle_path(BUNDLE, tmp_path / "cells").exists()


def test_a_message_is_short_and_its_first_line_is_clear():
    def deep(levels):
        return deep(levels - 1) if levels else int("x" * 5000 + "\udcff")

    with pytest.raises(ValueError) as caught:
        deep(50)
    text = message_of(caught.value)
    assert len(text) <= LONGEST
    assert text.startswith("ValueError: invalid literal for int() with base 10: 'xxx")
    assert message_of(ZeroDivisionError()).splitlines()[0] == "ZeroDivisionError"
    lines = "\n".join(map(str, range(3000)))
    assert message("first", lines).splitlines()[:2] == ["first", str(3000 - (LONGEST - 5) // 5)]


def test_a_damaged_entry_of_the_store_is_fitted_again(fitted, tmp_path):
    fit(BUNDLE, tmp_path)
    path = Store(tmp_path / "store").path(BUNDLE.cells()[1].digest())
    path.write_bytes(path.read_bytes()[:100])
    fit(BUNDLE, tmp_path)
    assert fitted.seeds == [0, 1, 2, 1]


def test_an_interrupted_write_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt), atomic(tmp_path / "x.parquet") as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_an_entry_of_the_store_that_is_of_another_cell_is_fitted_again(fitted, tmp_path):
    fit(BUNDLE, tmp_path)
    one, other = [Store(tmp_path / "store").path(cell.digest()) for cell in BUNDLE.cells()[:2]]
    other.write_bytes(one.read_bytes())
    rows = pq.read_table(fit(BUNDLE, tmp_path))
    assert fitted.seeds == [0, 1, 2, 1]
    assert sorted(rows["seed"].to_pylist()) == [0, 1, 2]


GRID = {
    "algorithms": ["diagonal"], "D": [4], "K": [2], "spectrum": [[1, 10]], "T": [5], "seeds": 3,
    "compared_with": "diagonal",
}  # fmt: skip
CONFIG = Config(root_seed=0, seeds_per_job=3, synthetic=GRID)


def of_another_cell(path):
    """The rows of another job, as one has them who copies files by hand."""
    (bundle,) = bundles(Config(root_seed=1, seeds_per_job=3, synthetic=GRID))
    fit_bundle(bundle, Store(path.parent / "other"), path.parent, path)


def one_bit_flipped(path):
    content, column = bytearray(path.read_bytes()), results.SCHEMA.get_field_index("value")
    values = pq.read_metadata(path).row_group(0).column(column)
    content[values.dictionary_page_offset + values.total_compressed_size - 1] ^= 1
    path.write_bytes(content)


def of_another_version(path):
    table = pq.ParquetFile(path).read()
    pq.write_table(table.replace_schema_metadata({"onlinefa_schema": "4"}), path)


def without_a_column(path):
    table = pq.ParquetFile(path).read().drop_columns("value")
    pq.write_table(table.replace_schema_metadata(results.SCHEMA.metadata), path)


def test_whatever_bit_of_a_file_is_flipped_no_value_changes(fitted, tmp_path):
    (bundle,) = bundles(CONFIG)
    path = fit(bundle, tmp_path)
    good, rows, refused = path.read_bytes(), pq.ParquetFile(path).read(), 0
    for place in range(0, len(good), 7):
        bad = bytearray(good)
        bad[place] ^= 1 << place % 8
        path.write_bytes(bad)
        try:  # what is flipped may be a statistic that nobody asks for
            assert results.read_bundle(bundle, tmp_path / "cells", rows.column_names) == rows
        except ResultError:
            refused += 1
    assert refused > len(good) / 7 / 2


DAMAGES = {
    "half of it": (lambda path: path.write_bytes(path.read_bytes()[:2000]), "not a readable"),
    "without its end": (lambda path: path.write_bytes(path.read_bytes()[:-1]), "not a readable"),
    "empty": (lambda path: path.write_bytes(b""), "not a readable Parquet file ("),
    "text": (lambda path: path.write_text("no\nParquet\n" * 99), "not a readable Parquet file ("),
    "another Parquet": (
        lambda path: pq.write_table(pa.table({"seed": [1]}), path),
        "schema version none, expected 5",
    ),
    "another version": (of_another_version, "schema version 4, expected 5"),
    "a column less": (without_a_column, "has other columns than it should"),
    "one bit": (one_bit_flipped, "CRC checksum verification failed"),
    "rows of another cell": (of_another_cell, "holds rows of other cells than it should"),
}


@pytest.mark.parametrize("command", ["summarise", "compare"])
@pytest.mark.parametrize(("damage", "reason"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_named_and_not_aggregated(
    fitted, tmp_path, capsys, command, damage, reason
):
    (bundle,) = bundles(CONFIG)
    path, output = fit(bundle, tmp_path), tmp_path / "aggregated.parquet"
    arguments = [command, "synthetic", "--config", CONFIG.model_dump_json()]
    arguments += ["--cells", str(tmp_path / "cells"), "--output", str(output)]
    assert main(arguments) == 0
    output.unlink()
    damage(path)
    assert main(arguments) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{path}: ")
    assert reason in line
    assert line.endswith("; delete it and run again")
    assert not output.exists()
    # Which is true: the cells are in the store.
    path.unlink()
    fit(bundle, tmp_path)
    assert main(arguments) == 0
