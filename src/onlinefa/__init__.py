"""onlinefa: online factor analysis, and the benchmark that compares it with what else there is.

`from onlinefa import OnlineEM, LowRankGaussian` works for every registered estimator; nothing
heavy is imported before it is asked for, because a cell of the benchmark may take one second.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"


def __dir__() -> list[str]:
    from onlinefa import estimators

    return ["FitDiverged", "LowRankGaussian", *map(estimators.class_name, estimators.names())]


def __getattr__(name: str) -> Any:
    if not name[:1].isupper():  # submodules are found by the import system, not here
        raise AttributeError(f"module 'onlinefa' has no attribute {name!r}")
    if name == "LowRankGaussian":
        from onlinefa.gaussian import LowRankGaussian

        return LowRankGaussian
    if name == "FitDiverged":
        from onlinefa.estimators.base import FitDiverged

        return FitDiverged
    from onlinefa import estimators

    for algorithm in estimators.names():
        if estimators.class_name(algorithm) == name:
            return estimators.load(algorithm)
    raise AttributeError(f"module 'onlinefa' has no attribute {name!r}")
