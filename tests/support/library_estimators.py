"""All estimator classes of the library, and estimators with the parameters that a class accepts."""

from __future__ import annotations

import inspect
from typing import Any

import onlinefa.estimators
from onlinefa.estimators.base import FactorEstimator


def find_estimators() -> dict[str, type[FactorEstimator]]:
    """Return the estimator classes by the name of their module, which is that of the algorithm."""
    exported = (getattr(onlinefa.estimators, name) for name in onlinefa.estimators.__all__)
    classes = (each for each in exported if issubclass(each, FactorEstimator))
    return {
        each.__module__.rpartition(".")[2]: each for each in classes if each is not FactorEstimator
    }


ESTIMATORS = find_estimators()
NAMES = sorted(ESTIMATORS)


def make_estimator(name: str, settings: dict[str, Any], **offered: Any) -> FactorEstimator:
    """Create an estimator with its settings and those of the given parameters that it accepts.

    A parameter whose default is not None, such as the seed of batch SVD, keeps its default.
    """
    parameters = inspect.signature(ESTIMATORS[name]).parameters
    accepted = {
        key: value
        for key, value in offered.items()
        if key in parameters and (key == "n_components" or parameters[key].default is None)
    }
    own = {key: value for key, value in settings.items() if key in parameters}
    return ESTIMATORS[name](**accepted | own)
