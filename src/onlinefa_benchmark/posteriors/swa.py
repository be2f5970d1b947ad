"""Stochastic weight averaging: the mean of the walk of SGD, without uncertainty."""

from __future__ import annotations

from time import perf_counter
from typing import ClassVar

import numpy as np

from onlinefa_benchmark.posteriors.base import Functions, Posterior, SampledFunctions, Task


class SWA(Posterior):
    """One network, whose weights are the average over the walk (Izmailov et al., 2018)."""

    stochastic: ClassVar[bool] = True

    def functions(self, task: Task) -> Functions:
        """Return the function of the network."""
        return self.timed(task)[0]

    def timed(self, task: Task) -> tuple[Functions, float]:
        """Return the function and the time, without that of SGD, which several posteriors share."""
        total, count, seconds = np.zeros(task.network.dimension), 0, 0.0
        for rows in task.walk():
            start = perf_counter()
            total, count = total + rows.sum(axis=0), count + len(rows)
            seconds += perf_counter() - start
        mean = total / count
        return SampledFunctions(task.network.functions(mean[None], task.inputs)), seconds
