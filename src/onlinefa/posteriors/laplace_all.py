"""Laplace's approximation of all weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onlinefa.posteriors.laplace import Laplace

if TYPE_CHECKING:
    from onlinefa.models.network import NetworkPosterior


class LaplaceOfAllWeights(Laplace):
    """As that of the last layer's, with the derivatives in all weights."""

    def _first_weight(self, network: NetworkPosterior) -> int:
        return 0
