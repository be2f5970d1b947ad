"""The task of a posterior of networks on a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from onlinefa.walks.errors import WalkDiverged
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.experiments.network.hyperparameters import Hyperparameters
from onlinefa_benchmark.experiments.network.trained_networks import TrainedNetworks
from onlinefa_benchmark.posteriors.base import Task


@dataclass(frozen=True, eq=False)
class NetworkTask(Task):
    """The task of a posterior with the networks of one candidate for the hyperparameters.

    Parameters
    ----------
    trainings : TrainedNetworks
        The networks of all candidates.
    number : int
        Number of the candidate.
    """

    trainings: TrainedNetworks
    number: int

    @property
    def hyperparameters(self) -> Hyperparameters:
        """The prior's precision and the noise."""
        return self.trainings.hyperparameters[self.number]

    @property
    def batch(self) -> int:
        """Rows in a step of SGD."""
        return self.trainings.training.batch

    @property
    def gradients(self) -> int:
        """The number of gradients of the whole table that are as costly as SGD's walk."""
        return -(-self.trainings.training.walk * self.batch // len(self.network.y))

    def modes(self, number: int) -> Array:
        """Return the modes of the first `number` runs, of shape (number, D).

        Raises
        ------
        ValueError
            If fewer networks were trained.
        """
        runs = self.trainings.training.runs
        if number > runs:
            raise ValueError(f"{number} networks are required, but runs is {runs}")
        return self.trainings.modes[self.number, :number]

    def walk(self, run: int = 0) -> Iterable[Array]:
        """Return the weights along SGD of a run.

        Raises
        ------
        WalkDiverged
            If a weight is not finite.
        """
        self.modes(run + 1)  # raises an error if there are fewer runs
        rows = self.trainings.walks[self.number, run]
        if not np.isfinite(rows).all():
            share = self.trainings.training.walk_rate
            raise WalkDiverged(f"SGD with {share:.2g} of the critical rate diverges")
        return [rows.astype(float)]
