"""Chapter 6: is what SGD's walk tells about a linear regression's weights their posterior?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from onlinefa import data
from onlinefa.cell import Cell
from onlinefa.experiments.tracking import Measurement
from onlinefa.experiments.walking import follow
from onlinefa.models.linear_regression import LinearRegression
from onlinefa.models.sgd_walk import Descent, walk_name


def run(cell: Cell, tables: Path) -> Iterator[Measurement]:
    """Follow one walk over one of the tables in a folder."""
    inputs, y = data.read(str(cell.axes["dataset"]), tables)
    yield from follow(
        cell,
        Descent(
            LinearRegression.of_table(inputs, y),
            cell.parameters["learning_rate"],
            cell.parameters["batch"],
            walk_name(str(cell.axes["walk"])),
        ),
    )
