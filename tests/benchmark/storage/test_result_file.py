"""Tests that result files which are damaged, outdated or of other cells are refused."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.small_jobs import FakeFits, fit

from onlinefa_benchmark.cli import main
from onlinefa_benchmark.config import config_model
from onlinefa_benchmark.config.files import write_checked
from onlinefa_benchmark.execution.fit import Job, fit_bundle
from onlinefa_benchmark.grid import bundles
from onlinefa_benchmark.storage.result_file import ResultError, read_bundle
from onlinefa_benchmark.storage.schema import VERSION, schema
from onlinefa_benchmark.storage.store import Store

GRID = {
    "algorithms": ["diagonal", "swag_diagonal"],
    "D": [4],
    "K": [2],
    "spectrum": [[1, 10]],
    "T": [5],
    "seeds": 3,
    "compared_with": "diagonal",
}


def configured(root_seed=0):
    return config_model()(root_seed=root_seed, seeds_per_job=3, synthetic=GRID)


@pytest.fixture(autouse=True)
def fits(monkeypatch):
    return FakeFits(monkeypatch)


def replace_by_rows_of_another_cell(path):
    bundle, _ = bundles(configured(root_seed=1))
    fit_bundle(bundle, Job(Store(path.parent / "other"), path.parent), path)


def flip_one_bit(path):
    content, column = bytearray(path.read_bytes()), schema("synthetic").get_field_index("value")
    values = pq.read_metadata(path).row_group(0).column(column)
    content[values.dictionary_page_offset + values.total_compressed_size - 1] ^= 1
    path.write_bytes(content)


def write_as_another_version(path):
    table = pq.ParquetFile(path).read()
    pq.write_table(table.replace_schema_metadata({"onlinefa_schema": "4"}), path)


def drop_a_column(path):
    table = pq.ParquetFile(path).read().drop_columns("value")
    pq.write_table(table.replace_schema_metadata(schema("synthetic").metadata), path)


@pytest.mark.slow
def test_flipping_any_bit_of_a_file_never_changes_a_value(tmp_path):
    bundle, _ = bundles(configured())
    path = fit(bundle, tmp_path)
    good, rows, refused = path.read_bytes(), pq.ParquetFile(path).read(), 0
    for place in range(0, len(good), 7):
        bad = bytearray(good)
        bad[place] ^= 1 << place % 8
        path.write_bytes(bad)
        try:  # the bit may belong to a statistic, which is not read
            assert read_bundle(bundle, tmp_path / "cells", rows.column_names) == rows
        except ResultError:
            refused += 1
    assert refused > len(good) / 7 / 2


DAMAGES = {
    "truncated": (lambda path: path.write_bytes(path.read_bytes()[:2000]), "not a readable"),
    "last byte missing": (lambda path: path.write_bytes(path.read_bytes()[:-1]), "not a readable"),
    "empty": (lambda path: path.write_bytes(b""), "not a readable Parquet file ("),
    "text": (lambda path: path.write_text("no\nParquet\n" * 99), "not a readable Parquet file ("),
    "another Parquet file": (
        lambda path: pq.write_table(pa.table({"seed": [1]}), path),
        f"schema version none, expected {VERSION}",
    ),
    "another version": (write_as_another_version, f"schema version 4, expected {VERSION}"),
    "missing column": (drop_a_column, "has other columns than it should"),
    "flipped bit": (flip_one_bit, "CRC checksum verification failed"),
    "rows of another cell": (
        replace_by_rows_of_another_cell,
        "holds rows of other cells than it should",
    ),
}


@pytest.mark.parametrize(("damage", "reason"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_named_and_not_aggregated(tmp_path, capsys, damage, reason):
    jobs = bundles(configured())
    bundle = jobs[0]
    path, *_ = (fit(job, tmp_path) for job in jobs)
    outputs = [tmp_path / "summary.parquet", tmp_path / "comparison.parquet"]
    write_checked(configured(), tmp_path / "config.json")
    arguments = ["aggregate", "synthetic", "--config", str(tmp_path / "config.json")]
    arguments += ["--cells", str(tmp_path / "cells")]
    arguments += ["--summary", str(outputs[0]), "--comparison", str(outputs[1])]
    assert main(arguments) == 0
    for output in outputs:
        output.unlink()
    damage(path)
    assert main(arguments) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{path}: ")
    assert reason in line
    assert line.endswith("; delete it and run again")
    assert not any(output.exists() for output in outputs)
    # Following the message helps, because the cells are in the store.
    path.unlink()
    fit(bundle, tmp_path)
    assert main(arguments) == 0
