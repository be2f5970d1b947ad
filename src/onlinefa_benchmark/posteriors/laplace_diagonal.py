"""The Laplace approximation of all weights as independent."""

from __future__ import annotations

import numpy as np

from onlinefa.precision import PrecisionGaussian
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.posteriors._linearised import LinearisedPosterior, Spread
from onlinefa_benchmark.posteriors.base import Task


class LaplaceDiagonal(LinearisedPosterior):
    """The Laplace approximation with the diagonal of I + A'A, for networks with many weights."""

    def spread(self, task: Task, mode: Array, random: np.random.Generator) -> Spread:
        """Return the Gaussian of independent deviations."""
        A = task.network.curvature_rows(mode, task.network.X)
        D = len(mode)
        return PrecisionGaussian(np.zeros(D), np.empty((D, 0)), 1 + np.sum(A**2, axis=0))
