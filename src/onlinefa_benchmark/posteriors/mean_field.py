"""Mean-field variational inference: a Gaussian with independent weights."""

from __future__ import annotations

from onlinefa_benchmark.posteriors._variational import Variational
from onlinefa_benchmark.posteriors.base import Task


class MeanField(Variational):
    """Variational inference with the family N(c, diag(psi)).

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
        """Return 0: the family has no factors."""
        return 0
