"""Laplace's approximation of all weights."""

from __future__ import annotations

from onlinefa.models.network import NetworkPosterior
from onlinefa.posteriors.laplace import Laplace


class LaplaceOfAllWeights(Laplace):
    """As that of the last layer's, with the derivatives in all weights."""

    def _first_weight(self, network: NetworkPosterior) -> int:
        return 0
