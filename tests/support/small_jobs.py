"""A job of the synthetic experiment with fast cells, for several test files."""

from __future__ import annotations

from onlinefa_benchmark import experiments
from onlinefa_benchmark.cells import Bundle, Group
from onlinefa_benchmark.execution.fit import Job, fit_bundle
from onlinefa_benchmark.measurement import measured
from onlinefa_benchmark.storage.result_file import bundle_path
from onlinefa_benchmark.storage.store import Store

AXES = {"algorithm": "diagonal", "D": 4, "K": 2, "spectrum": "1-10"}
PARAMETERS = {
    "dataset": "algorithm_3",
    "root_seed": 0,
    "spectrum": [1, 10],
    "T": [5],
    "settings": {},
}


def bundle_of(*seeds, **parameters):
    """Return a job with one group of cells."""
    return Bundle("synthetic", AXES, (Group(AXES, PARAMETERS | parameters),), seeds)


def fit(bundle, folder, **options):
    """Run a job as the workflow does, and return the file of its rows."""
    output = bundle_path(bundle, folder / "cells")
    fit_bundle(bundle, Job(Store(folder / "store"), folder, **options), output)
    return output


class FakeFits:
    """Replaces the computation of the synthetic experiment.

    Attributes
    ----------
    seeds : list of int
        Seeds of all cells that were fitted, in order.
    error : Exception or None
        Raised by the fit of seed 1.
    before : callable
        Called with each cell before it is fitted.
    """

    def __init__(self, monkeypatch):
        self.seeds = []
        self.error = None
        self.before = lambda cell: None
        owner = type(experiments.load("synthetic"))
        monkeypatch.setattr(owner, "run", lambda _, cell, context: self._run(cell))

    def _run(self, cell):
        self.before(cell)
        if self.error and cell.seed == 1:
            raise self.error
        self.seeds.append(cell.seed)
        yield measured(5, "relative_frobenius", 0.5 + cell.seed, 0.1)
