"""The trained network, without uncertainty: the baseline of all posteriors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onlinefa_benchmark.deep_posteriors.base import DeepPosterior, Predictor

if TYPE_CHECKING:
    from onlinefa_benchmark.deep.task import DeepTask


class MAP(DeepPosterior):
    """The network at the end of its training, at a maximum of the posterior."""

    def build(self, task: DeepTask) -> Predictor:
        """Return the predictions of the network."""
        from onlinefa_benchmark.deep_posteriors._networks import FixedNetworks

        return FixedNetworks([task.mode()])
