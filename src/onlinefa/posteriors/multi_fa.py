"""Factor analysis over several runs, by recursive EM: that extension as it should be."""

from __future__ import annotations

from typing import ClassVar

from onlinefa.estimators.base import FactorEstimator
from onlinefa.estimators.recursive_em import RecursiveEM
from onlinefa.posteriors._walked import Mixture


class MultiFA(Mixture):
    """A mixture of Gaussians, one for each run's walk."""

    stochastic: ClassVar[bool] = True
    kind: ClassVar[type[FactorEstimator]] = RecursiveEM

    def __init__(self, *, runs: int = 5) -> None:
        self.runs = runs
