"""Construction of estimators from settings and from what an experiment offers to all of them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from onlinefa.estimators.base import FactorEstimator


def build_estimator(
    estimator: type[FactorEstimator], settings: Mapping[str, Any], **offered: Any
) -> FactorEstimator:
    """Build an estimator.

    Parameters
    ----------
    estimator : type
        Class of the estimator.
    settings : mapping
        Parameters that a configuration gives.
    **offered
        ``n_components``, ``init_factors`` and ``random_state``: an estimator gets those that its
        constructor has. A parameter other than ``n_components`` keeps its default if that is not
        None, such as the seed of batch SVD. If `settings` has ``n_components``, the initial factors
        are left out, because their number may be another.

    Returns
    -------
    FactorEstimator
        The estimator, not fitted.
    """
    parameters = inspect.signature(estimator).parameters
    if "n_components" in settings:
        offered.pop("init_factors", None)
    accepted = {
        key: value
        for key, value in offered.items()
        if key in parameters and (key == "n_components" or parameters[key].default is None)
    }
    return estimator(**accepted | dict(settings))
