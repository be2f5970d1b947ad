"""Whom a cell asks for functions of a network."""

from __future__ import annotations

from onlinefa import posteriors
from onlinefa.cell import Cell
from onlinefa.experiments.tracking import import_and_compile
from onlinefa.posteriors._walked import OneWalk
from onlinefa.posteriors.base import Posterior


def posterior_of(cell: Cell) -> Posterior:
    """The cell's own posterior, or the Gaussian that its estimator fits to SGD's walk."""
    settings = dict(cell.parameters["settings"])
    if cell.estimator in posteriors.names():
        return posteriors.build(cell.estimator, settings)
    import_and_compile(cell)
    return OneWalk(cell.estimator, settings)
