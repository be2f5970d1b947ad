"""SWAG over several runs (Wilson and Izmailov, 2020)."""

from __future__ import annotations

from typing import ClassVar

from onlinefa.estimators.base import FactorEstimator
from onlinefa.estimators.swag import SWAG
from onlinefa_benchmark.deep_posteriors._walks import WalkMixture


class MultiSWAG(WalkMixture):
    """A mixture of Gaussians that SWAG fits to the walks of several runs.

    Parameters
    ----------
    runs : int
        Number of runs.
    """

    kind: ClassVar[type[FactorEstimator]] = SWAG
