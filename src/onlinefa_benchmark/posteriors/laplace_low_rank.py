"""The Laplace approximation with the leading eigenvectors of the Hessian."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from onlinefa.precision import PrecisionGaussian
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.posteriors._linearised import LinearisedPosterior, Spread
from onlinefa_benchmark.posteriors.base import Task


class LaplaceLowRank(LinearisedPosterior):
    """The Laplace approximation with the precision I + V diag(l) V', as in laplace-torch.

    V has the leading eigenvectors of the Gauss-Newton Hessian A'A, which are computed from all rows
    at once. In other directions the posterior is the prior.

    Parameters
    ----------
    factors : int or None
        Number of eigenvectors; None for the K of the experiment.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "factors": [Interval(Integral, 1, None, closed="left"), None]
    }

    def __init__(self, *, factors: int | None = None) -> None:
        self.factors = factors

    def spread(self, task: Task, mode: Array, random: np.random.Generator) -> Spread:
        """Return the Gaussian of the deviations."""
        A = task.network.curvature_rows(mode, task.network.X)
        rows, D = A.shape
        gram = A @ A.T if rows < D else A.T @ A
        eigenvalues, vectors = np.linalg.eigh(gram)
        kept = slice(-min(self.factors or task.K, len(eigenvalues)), None)
        # The columns of V sqrt(l) are A'u for the eigenvectors u of AA'.
        factors = A.T @ vectors if rows < D else vectors * np.sqrt(np.clip(eigenvalues, 0, None))
        return PrecisionGaussian(np.zeros(D), factors[:, kept], np.ones(D))
