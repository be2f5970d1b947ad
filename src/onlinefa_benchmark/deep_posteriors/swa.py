"""Stochastic weight averaging: the mean of the walk of SGD, without uncertainty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onlinefa.estimators.base import FactorEstimator
from onlinefa.estimators.diagonal import Diagonal
from onlinefa_benchmark.deep_posteriors.base import DeepPosterior, Predictor

if TYPE_CHECKING:
    from onlinefa_benchmark.deep.task import DeepTask


class SWA(DeepPosterior):
    """One network, whose weights are the average over the walk (Izmailov et al., 2018)."""

    def observer(self, K: int, random_state: int) -> FactorEstimator:
        """Return an estimator of the mean."""
        return Diagonal()

    def build(self, task: DeepTask) -> Predictor:
        """Return the predictions of the network."""
        from onlinefa_benchmark.deep_posteriors._networks import FixedNetworks

        average = task.walk(0, self.observer(task.K, 0)).average(task.recollection_batches())
        return FixedNetworks([average])
