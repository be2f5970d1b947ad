"""Construction of the posterior over functions of a network that a cell measures."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from onlinefa_benchmark.construction import build_estimator
from onlinefa_benchmark.posteriors._walks import OneWalk
from onlinefa_benchmark.posteriors.base import Posterior

if TYPE_CHECKING:
    from onlinefa_benchmark.cells import Cell
    from onlinefa_benchmark.context import Context


def build_posterior(cell: Cell, context: Context) -> Posterior:
    """Return the cell's posterior, or the Gaussian that its estimator fits to SGD's walk."""
    settings = dict(cell.parameters["settings"])
    if issubclass(context.algorithm, Posterior):
        return context.algorithm(**settings)
    return OneWalk(partial(build_estimator, context.algorithm, settings))
