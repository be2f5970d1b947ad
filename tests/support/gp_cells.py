"""Fast cells of chapter 7, for several test files."""

from __future__ import annotations

from support.contexts import context_of, run

from onlinefa_benchmark.cells import Cell
from onlinefa_benchmark.context import Cache
from onlinefa_benchmark.experiments.gp import GPConfig

PARAMETERS = {
    "root_seed": 1,
    "settings": {},
    "training": {
        "iterations": 1000,
        "learning_rate": 0.3,
        "batch": 10,
        "warm_up": 1,
        "epochs": 40,
        "every": 1,
    },
    "samples": 20,
}
CACHE = Cache()  # shared, as by the cells of one job


def cell(algorithm, width=6, seed=0, dataset="toy", **changes):
    """Return a cell."""
    axes = {
        "dataset": dataset,
        "width": width,
        "D": GPConfig.weights("toy", width),
        "K": 2,
        "algorithm": algorithm,
    }
    return Cell("gp", axes, seed, PARAMETERS | changes)


def measurements(*arguments, cache=CACHE, **changes):
    """Return the measurements of a cell."""
    one = cell(*arguments, **changes)
    return run(one, context_of(one, cache=cache))


def values(*arguments, **changes):
    """Return the values of a cell by metric, or by metric and index."""
    found = measurements(*arguments, **changes)
    return {m.metric if m.i is None else (m.metric, m.i): m.value for m in found}
