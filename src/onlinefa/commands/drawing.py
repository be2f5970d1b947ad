"""Commands that draw a figure or write tables."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from onlinefa.commands.of_a_grid import add_options, grid_of, in_one_line

if TYPE_CHECKING:
    from onlinefa.commands import Commands


def add(commands: Commands) -> None:
    figure = commands.add_parser("figure", help="draw one figure from a summary or comparison")
    figure.add_argument("name")
    figure.add_argument("--rows", required=True, type=Path, help="the summary, or comparison")
    figure.add_argument("--output", required=True, type=Path, nargs="+", help="one per format")
    figure.set_defaults(command=_figure)

    tables = commands.add_parser("tables", help="write tables of a summary's metrics")
    tables.add_argument("--summary", required=True, type=Path)
    tables.add_argument("--output", required=True, type=Path, nargs="+", help="METRIC.FORMAT")
    tables.set_defaults(command=_tables)

    compared = commands.add_parser("compared", help="write tables of a comparison")
    compared.add_argument("--comparison", required=True, type=Path)
    compared.add_argument(
        "--output", required=True, type=Path, nargs="+", help="compared_METRIC.FORMAT, ranks.FORMAT"
    )
    compared.set_defaults(command=_compared)

    datasets = commands.add_parser("datasets", help="write the table of datasets")
    datasets.add_argument("tables", type=Path, nargs="+", help="fetched datasets, DATASET.npy")
    datasets.add_argument("--learning-rate", required=True, type=float)
    datasets.add_argument("--batch", required=True, type=int)
    datasets.add_argument("--output", required=True, type=Path, nargs="+", help="one per format")
    datasets.set_defaults(command=_datasets)

    coverage = commands.add_parser("coverage", help="write the table of what became of all cells")
    add_options(coverage)
    coverage.add_argument("--output", required=True, type=Path, nargs="+", help="one per format")
    coverage.set_defaults(command=_coverage)


def _figure(options: argparse.Namespace) -> int:
    from onlinefa.figures import draw

    draw(options.name, options.rows, options.output)
    return 0


def _tables(options: argparse.Namespace) -> int:
    from onlinefa.tables.final import write_tables

    write_tables(options.summary, options.output)
    return 0


def _compared(options: argparse.Namespace) -> int:
    from onlinefa.tables.compared import write_tables

    write_tables(options.comparison, options.output)
    return 0


def _datasets(options: argparse.Namespace) -> int:
    from onlinefa.tables.datasets import write_table

    write_table(options.tables, options.learning_rate, options.batch, options.output)
    return 0


@in_one_line
def _coverage(options: argparse.Namespace) -> int:
    from onlinefa.tables.coverage import write_table

    _, bundles = grid_of(options)
    write_table(bundles, options.cells, options.output)
    return 0
