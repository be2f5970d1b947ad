"""States of underdamped Langevin dynamics, as draws from the posterior."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from onlinefa_benchmark.posteriors._underdamped import walk_underdamped
from onlinefa_benchmark.posteriors.base import Functions, Posterior, SampledFunctions, Task


class UnderdampedStates(Posterior):
    """Networks that underdamped Langevin dynamics visits, at regular intervals.

    The dynamics starts at the mode and has gradients of the whole table; its first half is left
    out.

    Parameters
    ----------
    budget : int
        Cost of the walk as a multiple of that of SGD's walk.
    """

    stochastic: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "budget": [Interval(Integral, 1, None, closed="left")]
    }

    def __init__(self, *, budget: int = 1) -> None:
        self.budget = budget

    def functions(self, task: Task) -> Functions:
        """Return the functions of the networks."""
        values = [
            task.network.functions(states, task.inputs)
            for states in walk_underdamped(task, self.budget)
        ]
        every = np.concatenate(values)
        kept = np.linspace(0, len(every) - 1, task.samples).round().astype(int)
        return SampledFunctions(every[kept])
