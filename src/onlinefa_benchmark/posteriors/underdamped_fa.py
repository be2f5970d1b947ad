"""A Gaussian that shrunk EM fits to the states of underdamped Langevin dynamics."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from onlinefa.estimators.base import FactorEstimator
from onlinefa.estimators.shrunk_em import ShrunkEM
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.construction import build_estimator
from onlinefa_benchmark.posteriors._underdamped import walk_underdamped
from onlinefa_benchmark.posteriors._walks import WalkPosterior
from onlinefa_benchmark.posteriors.base import Task


class UnderdampedFA(WalkPosterior):
    """A Gaussian that is fitted to a walk of underdamped Langevin dynamics.

    Parameters
    ----------
    budget : int
        Cost of the walk as a multiple of that of SGD's walk.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "budget": [Interval(Integral, 1, None, closed="left")]
    }

    def __init__(self, *, budget: int = 1) -> None:
        self.budget = budget

    def estimator(self, **offered: Any) -> FactorEstimator:
        """Return a new estimator."""
        return build_estimator(ShrunkEM, {}, **offered)

    def rows(self, task: Task, run: int) -> Iterable[Array]:
        """Return the states of the walk."""
        return walk_underdamped(task, self.budget)
