"""Tests of the columns of result files, and of the values of rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.small_jobs import FakeFits, bundle_of, fit

from onlinefa_benchmark import experiments
from onlinefa_benchmark.axes import Axis
from onlinefa_benchmark.cells import Cell
from onlinefa_benchmark.measurement import Measurement, diverged, measured
from onlinefa_benchmark.storage import result_file
from onlinefa_benchmark.storage.provenance import Provenance
from onlinefa_benchmark.storage.schema import VERSION, _key_columns, key_columns, schema

BUNDLE = bundle_of(0, 1, 2)


def table_of(cell, measurements):
    return result_file.measurement_table(cell, "d" * 32, measurements, Provenance())


def test_rows_have_the_schema_and_the_keys(monkeypatch, tmp_path):
    FakeFits(monkeypatch)
    table = pq.read_table(fit(BUNDLE, tmp_path))
    assert table.schema.names == schema("synthetic").names
    assert table.schema.metadata[b"onlinefa_schema"] == VERSION.encode()
    row = table.to_pylist()[1]
    assert row["experiment"] == "synthetic"
    assert (row["algorithm"], row["D"], row["K"], row["spectrum"]) == ("diagonal", 4, 2, "1-10")
    assert row["dataset"] == "algorithm_3"
    assert (row["seed"], row["step"], row["value"], row["status"]) == (1, 5, 1.5, "ok")
    assert row["peak_memory_mb"] > 1
    assert row["host"]
    assert "numpy" in row["versions"]


def test_values_are_stored_bit_for_bit():
    random = np.random.default_rng(0).integers(0, 2**63, 1000, dtype=np.uint64).view(float)
    values = [0.1, -0.0, 5e-324, np.float64(1 / 3), np.float32(0.1), 3, *random.tolist()]
    values = [value for value in values if np.isfinite(value)]
    stored = table_of(BUNDLE.cells()[0], [measured(1, "m", value, 0.0) for value in values])
    expected = np.array(values, dtype=float)
    found = stored["value"].to_numpy()
    assert np.array_equal(found.view(np.uint64), expected.view(np.uint64))


def test_text_of_any_characters_and_length_is_stored():
    text = 'a "line"\nand ü\u2028' + "long" * 10**6
    stored = table_of(BUNDLE.cells()[0], [diverged(1, "m", text, 0.0)])
    assert stored["message"].to_pylist() == [text]
    assert stored["value"].to_pylist() == [None]


def test_a_cell_without_measurements_has_a_table_without_rows():
    stored = table_of(BUNDLE.cells()[0], [])
    assert stored.equals(schema("synthetic").empty_table(), check_metadata=True)


def test_indices_are_in_columns_and_null_for_scalars():
    measurements = [
        measured(1, "wasserstein2", 0.5, 0.0),
        measured(1, "mean", 0.5, 0.0, (3,)),
        measured(1, "covariance", 0.5, 0.0, (3, 7)),
        diverged(1, "covariance", "diverged", 0.0, (4, 8)),
    ]
    stored = table_of(BUNDLE.cells()[0], measurements)
    assert stored["metric"].to_pylist() == ["wasserstein2", "mean", "covariance", "covariance"]
    assert stored["i"].to_pylist() == [None, 3, 3, 4]
    assert stored["j"].to_pylist() == [None, None, 7, 8]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -np.inf])
def test_a_value_that_is_not_finite_is_undefined_with_a_reason(value):
    found = measured(1, "r_hat", value, 0.0)
    reason = f"the value is {value}"
    assert found == Measurement(1, "r_hat", None, "undefined", reason, 0.0)


class WithAxes(type(experiments.load("synthetic"))):
    """An experiment with two axes of its own."""

    name = "with_axes"
    setting_axes = (
        *experiments.load("synthetic").setting_axes,
        Axis("temperature", kind=float),
        Axis("colour"),
    )


@pytest.fixture
def with_axes(monkeypatch):
    """Register the experiment, as if its file were in the folder of experiments."""
    registered = experiments._experiments() | {"with_axes": WithAxes()}
    monkeypatch.setattr(experiments, "_experiments", lambda: registered)
    yield
    schema.cache_clear()
    _key_columns.cache_clear()


def test_an_experiment_with_axes_of_its_own_has_a_column_for_each(with_axes, tmp_path):
    cell = BUNDLE.cells()[0]
    other = Cell(
        "with_axes",
        cell.axes | {"temperature": 0.5, "colour": "red"},
        cell.seed,
        cell.parameters,
    )
    own, common = schema("with_axes"), schema("synthetic")
    assert set(own.names) - set(common.names) == {"temperature", "colour"}
    assert own.field("temperature").type == pa.float64()
    assert own.field("colour").type == pa.string()
    assert key_columns("with_axes") == [
        *key_columns("synthetic")[:-1],
        "temperature",
        "colour",
        "seed",
    ]
    path = tmp_path / "own.parquet"
    result_file.write(table_of(other, [measured(5, "m", 0.5, 0.1)]), path)
    (row,) = result_file.read(path).to_pylist()
    assert (row["experiment"], row["temperature"], row["colour"]) == ("with_axes", 0.5, "red")


def test_files_of_other_experiments_do_not_have_these_columns(monkeypatch, with_axes, tmp_path):
    assert schema("gp").names == schema("synthetic").names
    FakeFits(monkeypatch)
    assert result_file.read(fit(BUNDLE, tmp_path)).schema.names == schema("synthetic").names
