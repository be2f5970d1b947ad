"""Factor analysis of the walks of several runs by recursive EM."""

from __future__ import annotations

from typing import ClassVar

from onlinefa.estimators.base import FactorEstimator
from onlinefa.estimators.recursive_em import RecursiveEM
from onlinefa_benchmark.deep_posteriors._walks import WalkMixture


class MultiFA(WalkMixture):
    """A mixture of Gaussians that recursive EM fits to the walks of several runs.

    Parameters
    ----------
    runs : int
        Number of runs.
    """

    kind: ClassVar[type[FactorEstimator]] = RecursiveEM
