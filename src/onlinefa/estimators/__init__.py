"""The estimators: algorithms that fit a factor Gaussian to rows. One file for each."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from onlinefa import registry

if TYPE_CHECKING:
    from onlinefa.estimators.base import FactorEstimator

_OFFERED = {"n_components", "init_factors", "random_state"}


def names() -> list[str]:
    """All registered algorithms, sorted."""
    return registry.names(__path__)


def load(name: str) -> type[FactorEstimator]:
    """The estimator class of an algorithm."""
    return registry.load(__name__, __path__, name)


def build(name: str, settings: dict[str, Any], **offered: Any) -> FactorEstimator:
    """An algorithm with its own settings, and of what an experiment offers what it accepts.

    An experiment offers `n_components`, `init_factors` and `random_state`; the diagonal control,
    say, has no use for any of them, and batch SVD keeps the seed that is its default. Settings that
    choose another number of factors have no use for initial ones of the number that is offered.
    """
    return construct(load(name), settings, **offered)


def construct(
    estimator: type[FactorEstimator], settings: dict[str, Any], **offered: Any
) -> FactorEstimator:
    """The same, of a class."""
    parameters = inspect.signature(estimator).parameters
    if "n_components" in settings:
        offered.pop("init_factors", None)
    accepted = {
        key: value
        for key, value in offered.items()
        if key in parameters and (key == "n_components" or parameters[key].default is None)
    }
    return estimator(**accepted | settings)


def default_settings(name: str) -> dict[str, Any]:
    """An algorithm's own settings and their defaults, read from its file without importing it."""
    found = registry.settings(__path__[0], name)
    return {key: value for key, value in found.items() if key not in _OFFERED}


def class_name(name: str) -> str:
    """The name of an algorithm's class, read from its file without importing it."""
    return registry.class_name(__path__[0], name)
