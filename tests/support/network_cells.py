"""Cells of networks that are trained in little time, for several test files."""

from __future__ import annotations

from dataclasses import replace

from support.tiny_networks import TRAINING

from onlinefa_benchmark.cells import Cell

QUICK = replace(TRAINING, runs=2, walk=9)
SELECTIONS = {
    "evidence": {"iterations": 20},
    "heteroscedastic": {"iterations": 20},
    "validation": {"numbers": [0, 1, 2, 4]},
}


def cell(algorithm="map", seed=0, noise="validation", training=QUICK, **settings):
    """Return a cell."""
    axes = {
        "dataset": "yacht",
        "noise": noise,
        "width": 3,
        "D": 17 if noise == "heteroscedastic" else 13,
        "K": 2,
        "algorithm": algorithm,
    }
    parameters = {
        "root_seed": 1,
        "settings": settings,
        "splits": "random",
        "training": vars(training),
        "selection": SELECTIONS[noise],
        "samples": 5,
    }
    return Cell("network", axes, seed, parameters)


def values_of(measurements):
    """Return values by metric, or by metric and index."""
    return {m.metric if m.i is None else (m.metric, m.i): m.value for m in measurements}
