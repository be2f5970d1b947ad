"""Fit the seeds of a group at once, on a GPU, with the same results as one after the other."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib import import_module
from time import perf_counter

import numpy as np
import torch

from onlinefa import batched
from onlinefa.cell import Cell
from onlinefa.estimators.base import FitDiverged
from onlinefa.experiments import module_of
from onlinefa.experiments.tracking import Measurement, Trial, diverged, initial_factors
from onlinefa.progress import Pace

log = logging.getLogger(__name__)


def run_together(cells: Sequence[Cell], device: str) -> list[list[Measurement]]:
    """The measurements of each of some cells that differ in the seed alone.

    The seconds of a cell are its share of what all of them took together.
    """
    trials = [import_module(module_of(cell.experiment)).trial_of(cell) for cell in cells]
    model = _new_model(cells, trials, device)
    found: list[list[Measurement]] = [[] for _ in cells]
    lost = [False for _ in cells]
    learning = 0.0
    pace = Pace(trials[0].steps[-1], trials[0].unit)
    reached = 0
    for position, step in enumerate(trials[0].steps):
        for rows in zip(*(trial.stream(step) for trial in trials), strict=True):
            block = torch.from_numpy(np.stack(rows)).to(device)
            start = perf_counter()
            model.partial_fit(block)
            _wait(device)
            learning += perf_counter() - start
            reached = min(step, reached + len(rows[0]))
            pace.reach(reached)
        start = perf_counter()
        estimates = model.gaussians()
        seconds = (learning + perf_counter() - start) / len(cells)
        for number, (trial, estimate) in enumerate(zip(trials, estimates, strict=True)):
            if lost[number]:
                continue
            if isinstance(estimate, FitDiverged):
                log.warning("seed %d: %s", cells[number].seed, estimate)
                lost[number] = True
                found[number] += diverged(trial, position, str(estimate), seconds)
                continue
            for metric, value in trial.measure(step, estimate).items():
                found[number].append(Measurement.of(step, metric, value, seconds))
    return found


def _new_model(cells: Sequence[Cell], trials: Sequence[Trial], device: str) -> batched.Batched:
    factors = [
        initial_factors(trial, int(cell.axes["K"]))
        for cell, trial in zip(cells, trials, strict=True)
    ]
    return batched.build(
        cells[0].estimator,
        torch.from_numpy(np.stack(factors)).to(device),
        cells[0].parameters["settings"],
    )


def _wait(device: str) -> None:
    """Until a GPU has done what it was told, which is after the call that told it has returned."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()
