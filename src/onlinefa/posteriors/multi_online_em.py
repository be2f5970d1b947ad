"""Online EM over several runs: the extension of MultiSWAG that the thesis is named after."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from onlinefa import estimators
from onlinefa.estimators.base import FactorEstimator
from onlinefa.estimators.online_em import OnlineEM
from onlinefa.posteriors._walked import FromWalks


class MultiOnlineEM(FromWalks):
    """A mixture of Gaussians, one for each run's walk."""

    stochastic: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "runs": [Interval(Integral, 1, None, closed="left")]
    }

    def __init__(self, *, runs: int = 5) -> None:
        self.runs = runs

    def estimator(self, **offered: Any) -> FactorEstimator:
        return estimators.construct(OnlineEM, {}, **offered)
