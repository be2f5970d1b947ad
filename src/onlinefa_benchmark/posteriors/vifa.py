"""Variational inference with factor analysis (VIFA): a Gaussian with a factor covariance."""

from __future__ import annotations

from onlinefa_benchmark.posteriors._variational import Variational
from onlinefa_benchmark.posteriors.base import Task


class VIFA(Variational):
    """Variational inference with the family N(c, FF' + diag(psi)).

    Parameters
    ----------
    steps : int
        Number of steps of Adam.
    learning_rate : float
        Initial learning rate; it falls to zero.
    draws : int
        Number of networks that are drawn in a step.
    """

    def rank(self, task: Task) -> int:
        """Return the number of factors that the estimators of walks have."""
        return task.K
