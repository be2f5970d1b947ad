"""The schema of result files: one row for each value of a metric.

All experiments share the columns; an experiment with axes of its own has a further column for each.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pyarrow as pa

from onlinefa_benchmark import axes, experiments
from onlinefa_benchmark.cells import Cell

VERSION = "6"
VERSION_KEY = b"onlinefa_schema"

FAILED = "failed"
"""Status of a cell without a result, and metric of its only row."""

_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64()}

_VALUE_COLUMNS = [
    ("step", pa.int64()),
    ("metric", pa.string()),
    ("i", pa.int64()),
    ("j", pa.int64()),
    ("value", pa.float64()),
    ("status", pa.string()),
    ("message", pa.string()),
    ("contract", pa.string()),
    ("networks", pa.int64()),
    ("digest", pa.string()),
    ("commit", pa.string()),
    ("versions", pa.string()),
    ("device", pa.string()),
    ("host", pa.string()),
    ("seconds", pa.float64()),
    ("peak_memory_mb", pa.float64()),
]


@cache
def schema(experiment: str) -> pa.Schema:
    """Return the schema of an experiment's files."""
    own = experiments.load(experiment).own_axes
    named = [(axis.name, _TYPES[axis.kind]) for axis in (*axes.COMMON.values(), *own)]
    columns = [("experiment", pa.string()), *named, ("seed", pa.int64()), *_VALUE_COLUMNS]
    return pa.schema(columns, metadata={VERSION_KEY: VERSION.encode()})


@cache
def _key_columns(experiment: str) -> tuple[str, ...]:
    own = [axis.name for axis in experiments.load(experiment).own_axes]
    return ("experiment", *axes.COMMON, *own, "seed")


def key_columns(experiment: str) -> list[str]:
    """Return the columns that name a cell: the experiment, all axes and the seed."""
    return list(_key_columns(experiment))


def key_values(cell: Cell) -> tuple[Any, ...]:
    """Return the values of a cell's key columns."""
    named = {"experiment": cell.experiment, "dataset": cell.parameters.get("dataset")}
    named |= {"seed": cell.seed, **cell.axes}
    return tuple(named.get(key) for key in _key_columns(cell.experiment))
