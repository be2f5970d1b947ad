"""The Laplace approximation of all weights."""

from __future__ import annotations

from onlinefa_benchmark.posteriors.base import Task
from onlinefa_benchmark.posteriors.laplace import Laplace


class LaplaceOfAllWeights(Laplace):
    """The Laplace approximation of all weights, with their full covariance."""

    def first_weight(self, task: Task) -> int:
        """Return the index of the first weight."""
        return 0
