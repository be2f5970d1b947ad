"""What values a parameter may have, and how that is said.

The words are scikit-learn's, whose own constraints are private, and take seconds to import.

>>> check("OnlineEM", "n_components", 0, [whole(1), Word("auto")])
Traceback (most recent call last):
    ...
onlinefa.constraints.InvalidParameter: The 'n_components' parameter of OnlineEM must be an int in \
the range [1, inf) or a str among {'auto'}. Got 0 instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np


class InvalidParameter(ValueError):
    """A parameter has a value that it may not have."""


class Constraint(Protocol):
    """What one kind of allowed values has in common; as a string, in words."""

    def allows(self, value: Any) -> bool: ...


Constraints = Mapping[str, Sequence[Constraint]]
"""Of each parameter what it may be: any of these."""


def check(owner: str, name: str, value: Any, constraints: Sequence[Constraint]) -> None:
    """Refuse a value that none of the constraints allows, in one line."""
    if any(constraint.allows(value) for constraint in constraints):
        return
    *others, last = map(str, constraints)
    allowed = f"{', '.join(others)} or {last}" if others else last
    got = " ".join(line.strip() for line in repr(value).splitlines())
    raise InvalidParameter(
        f"The {name!r} parameter of {owner} must be {allowed}. Got {got} instead."
    )


def whole(least: int, most: float = math.inf) -> Interval:
    """Whole numbers from the least on."""
    return Interval(Integral, least, most, with_lowest=True)


def above(lowest: float, most: float = math.inf) -> Interval:
    """Numbers that are larger."""
    return Interval(Real, float(lowest), float(most), with_lowest=False)


def at_least(lowest: float) -> Interval:
    """Numbers that are as large or larger."""
    return Interval(Real, float(lowest), math.inf, with_lowest=True)


@dataclass(frozen=True)
class Interval:
    """Finite numbers of a kind, up to the highest, and with or without the lowest."""

    kind: type
    lowest: float
    highest: float
    with_lowest: bool

    def allows(self, value: Any) -> bool:
        return isinstance(value, self.kind) and self._contains(value)

    def _contains(self, number: Any) -> bool:
        is_high_enough = self.lowest <= number if self.with_lowest else self.lowest < number
        return bool(is_high_enough and number <= self.highest and number < math.inf)

    def __str__(self) -> str:
        kind = "an int" if self.kind is Integral else "a float"
        opening, closing = (
            "[" if self.with_lowest else "(",
            ")" if self.highest == math.inf else "]",
        )
        return f"{kind} in the range {opening}{self.lowest}, {self.highest}{closing}"


@dataclass(frozen=True)
class Word:
    """One string."""

    word: str

    def allows(self, value: Any) -> bool:
        return isinstance(value, str) and value == self.word

    def __str__(self) -> str:
        return f"a str among {{{self.word!r}}}"


class Nothing:
    """None."""

    def allows(self, value: Any) -> bool:
        return value is None

    def __str__(self) -> str:
        return "None"


class ArrayLike:
    """Whatever may become an array of one dimension or more."""

    def allows(self, value: Any) -> bool:
        is_array = any(hasattr(value, name) for name in ("__len__", "shape", "__array__"))
        return is_array and not np.isscalar(value)

    def __str__(self) -> str:
        return "an array-like"


class Generator:
    """A generator of random numbers, of the kind that scikit-learn takes."""

    def allows(self, value: Any) -> bool:
        return isinstance(value, np.random.RandomState)

    def __str__(self) -> str:
        return "an instance of 'numpy.random.mtrand.RandomState'"


NOTHING = Nothing()
ARRAY_LIKE = ArrayLike()
SEED: list[Constraint] = [whole(0, 2**32 - 1), Generator(), NOTHING]
