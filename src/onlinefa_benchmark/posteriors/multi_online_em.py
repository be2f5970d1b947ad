"""Online EM over several runs: the thesis's extension of MultiSWAG."""

from __future__ import annotations

from typing import ClassVar

from onlinefa.estimators.base import FactorEstimator
from onlinefa.estimators.online_em import OnlineEM
from onlinefa_benchmark.posteriors._walks import WalkMixture


class MultiOnlineEM(WalkMixture):
    """A mixture of Gaussians that online EM fits to the walks of several runs.

    Parameters
    ----------
    runs : int
        Number of runs.
    """

    kind: ClassVar[type[FactorEstimator]] = OnlineEM
