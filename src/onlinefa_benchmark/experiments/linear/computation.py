"""Fits to the walk of SGD over the linear regression of a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onlinefa_benchmark.experiments.linear.sgd_tracking import track_walk
from onlinefa_benchmark.measurement import Measurement
from onlinefa_benchmark.models.linear_regression import LinearRegression
from onlinefa_benchmark.models.sgd_walk import SGDSettings
from onlinefa_benchmark.models.walk_names import parse_walk_name

if TYPE_CHECKING:
    from onlinefa_benchmark.cells import Cell
    from onlinefa_benchmark.context import Context


def run(cell: Cell, context: Context) -> Iterator[Measurement]:
    """Fit one estimator to one walk of SGD over one table."""
    inputs, y = context.read_table(str(cell.axes["dataset"]))
    sgd = SGDSettings(
        LinearRegression.of_table(inputs, y),
        cell.parameters["learning_rate"],
        cell.parameters["batch"],
        parse_walk_name(str(cell.axes["walk"])),
    )
    yield from track_walk(cell, sgd, context)
