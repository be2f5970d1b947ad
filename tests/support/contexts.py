"""Contexts for the computation of single cells."""

from __future__ import annotations

from onlinefa_benchmark import algorithms, experiments
from onlinefa_benchmark.context import Context


def context_of(cell, **options):
    """Return the context of a cell, without progress, checkpoint and tables."""
    return Context(algorithm=algorithms.load(cell.base_algorithm), **options)


def run(cell, context=None):
    """Return the measurements of a cell."""
    return list(experiments.load(cell.experiment).run(cell, context or context_of(cell)))
