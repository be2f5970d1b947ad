"""Cells of networks that are trained in little time, for several test files."""

from __future__ import annotations

from support.tiny_networks import TRAINING

from onlinefa_benchmark.cells import Cell
from onlinefa_benchmark.experiments.network.task import NetworkTraining

QUICK = NetworkTraining(**vars(TRAINING) | {"candidates": 4, "runs": 2, "steps": 12, "walk": 9})


def cell(algorithm="map", seed=0, experiment="network", training=QUICK, **settings):
    """Return a cell."""
    axes = {"dataset": "yacht", "width": 3, "D": 13, "K": 2, "algorithm": algorithm}
    parameters = {
        "root_seed": 1,
        "settings": settings,
        "training": vars(training),
        "samples": 5,
    }
    return Cell(experiment, axes, seed, parameters)


def values_of(measurements):
    """Return values by metric, or by metric and index."""
    return {m.metric if m.i is None else (m.metric, m.i): m.value for m in measurements}
