"""Fits of all seeds of a group at once on a GPU, with the results of fits one after the other."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
import torch

from onlinefa.estimators.base import FitDiverged
from onlinefa.torch import batched
from onlinefa_benchmark.experiments._tracking import Trial, diverged_from, initial_factors
from onlinefa_benchmark.measurement import Measurement, measured

if TYPE_CHECKING:
    from onlinefa_benchmark.cells import Cell
    from onlinefa_benchmark.context import Context

log = logging.getLogger(__name__)

MakeTrial = Callable[["Cell", "Context"], Trial]


def run_batch(
    cells: Sequence[Cell], make_trial: MakeTrial, context: Context
) -> list[list[Measurement]]:
    """Compute cells that differ in the seed alone, and return the measurements of each.

    The seconds of a cell are its share of the time that all of them took together.
    """
    trials = [make_trial(cell, context) for cell in cells]
    model = _new_model(cells, trials, context.device)
    found: list[list[Measurement]] = [[] for _ in cells]
    has_diverged = [False for _ in cells]
    learning = 0.0
    pace = context.progress.start(trials[0].steps[-1], trials[0].unit)
    reached = 0
    for position, step in enumerate(trials[0].steps):
        for rows in zip(*(trial.stream(step) for trial in trials), strict=True):
            block = torch.from_numpy(np.stack(rows)).to(context.device)
            start = perf_counter()
            model.partial_fit(block)
            _synchronize(context.device)
            learning += perf_counter() - start
            reached = min(step, reached + len(rows[0]))
            pace.reach(reached)
        start = perf_counter()
        estimates = model.gaussians()
        seconds = (learning + perf_counter() - start) / len(cells)
        for number, (trial, estimate) in enumerate(zip(trials, estimates, strict=True)):
            if has_diverged[number]:
                continue
            if isinstance(estimate, FitDiverged):
                log.warning("seed %d: %s", cells[number].seed, estimate)
                has_diverged[number] = True
                found[number] += diverged_from(trial, position, str(estimate), seconds)
                continue
            for (metric, index), value in trial.measure(step, estimate).items():
                found[number].append(measured(step, metric, value, seconds, index))
    return found


def _new_model(cells: Sequence[Cell], trials: Sequence[Trial], device: str) -> batched.Batched:
    factors = [
        initial_factors(trial, int(cell.axes["K"]))
        for cell, trial in zip(cells, trials, strict=True)
    ]
    return batched.build(
        cells[0].base_algorithm,
        torch.from_numpy(np.stack(factors)).to(device),
        cells[0].parameters["settings"],
    )


def _synchronize(device: str) -> None:
    """Wait until a GPU has finished, because calls return before it has."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()
