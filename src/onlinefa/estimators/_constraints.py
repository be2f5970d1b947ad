"""Constraints on the parameters of estimators, in the form that scikit-learn checks.

Each estimator lists the constraints of its parameters in `_parameter_constraints`. scikit-learn
keeps the classes of constraints in a private module; this is the only module that imports it.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

Constraints = dict[str, list[Any]]

POSITIVE: list[Any] = [Interval(Real, 0, None, closed="neither")]
NON_NEGATIVE: list[Any] = [Interval(Real, 0, None, closed="left")]
INITIALIZATION: Constraints = {
    "init_factors": ["array-like", None],
    "random_state": ["random_state"],
}


def allow_integers(minimum: int) -> list[Any]:
    """Allow integers that are not smaller than a minimum."""
    return [Interval(Integral, minimum, None, closed="left")]


def allow_reals(above: float, up_to: float) -> list[Any]:
    """Allow real numbers that are larger than one limit and not larger than another."""
    return [Interval(Real, above, up_to, closed="right")]


def allow_word(word: str) -> list[Any]:
    """Allow one string."""
    return [StrOptions({word})]
