"""The Laplace approximation of all weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onlinefa_benchmark.posteriors.laplace import Laplace

if TYPE_CHECKING:
    from onlinefa_benchmark.models.network import NetworkPosterior


class LaplaceOfAllWeights(Laplace):
    """The Laplace approximation of all weights, with their full covariance."""

    def _first_weight(self, network: NetworkPosterior) -> int:
        return 0
