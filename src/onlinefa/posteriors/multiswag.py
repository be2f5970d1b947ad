"""SWAG, over several runs (Wilson and Izmailov, 2020)."""

from __future__ import annotations

from typing import ClassVar

from onlinefa.estimators.base import FactorEstimator
from onlinefa.estimators.swag import SWAG
from onlinefa.posteriors._walked import Mixture


class MultiSWAG(Mixture):
    """A mixture of Gaussians, one for each run's walk."""

    stochastic: ClassVar[bool] = True
    kind: ClassVar[type[FactorEstimator]] = SWAG

    def __init__(self, *, runs: int = 5) -> None:
        self.runs = runs
