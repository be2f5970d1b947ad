"""Online EM over several runs: the extension of MultiSWAG that the thesis is named after."""

from __future__ import annotations

from typing import ClassVar

from onlinefa.estimators.base import FactorEstimator
from onlinefa.estimators.online_em import OnlineEM
from onlinefa.posteriors._walked import Mixture


class MultiOnlineEM(Mixture):
    """A mixture of Gaussians, one for each run's walk."""

    stochastic: ClassVar[bool] = True
    kind: ClassVar[type[FactorEstimator]] = OnlineEM

    def __init__(self, *, runs: int = 5) -> None:
        self.runs = runs
