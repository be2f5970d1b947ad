"""Stochastic weight averaging: the mean of SGD's walk, and no uncertainty."""

from __future__ import annotations

from time import perf_counter
from typing import ClassVar

import numpy as np

from onlinefa.posteriors.base import Functions, Posterior, SampledFunctions, Task


class SWA(Posterior):
    """One network, whose weights are the average of the walk's (Izmailov et al., 2018)."""

    stochastic: ClassVar[bool] = True

    def functions(self, task: Task) -> Functions:
        return self.timed(task)[0]

    def timed(self, task: Task) -> tuple[Functions, float]:
        """Without the time of walking, which all share."""
        total, count, seconds = np.zeros(task.network.dimension), 0, 0.0
        for rows in task.walk():
            start = perf_counter()
            total, count = total + rows.sum(axis=0), count + len(rows)
            seconds += perf_counter() - start
        mean = total / count
        return SampledFunctions(task.network.functions(mean[None], task.inputs)), seconds
