"""Mean-field variational inference: a Gaussian with independent weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from onlinefa_benchmark.posteriors._variational import Variational
from onlinefa_benchmark.posteriors.base import Task

if TYPE_CHECKING:
    from onlinefa_benchmark.models.training import Networks
    from onlinefa_benchmark.posteriors._factor_family import FactorFamily


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

    def _fit(
        self, networks: Networks, tasks: Sequence[Task], random: np.random.Generator
    ) -> FactorFamily:
        """Return Gaussians with independent weights."""
        return self._fit_independent(networks, tasks, random)
