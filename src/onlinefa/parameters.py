"""Objects that are made of parameters, in scikit-learn's conventions and without importing it.

The constructor stores every parameter untouched, under its own name. That is what scikit-learn's
`clone`, pipelines and searches rely on.
"""

from __future__ import annotations

import copy
import inspect
from functools import cache
from typing import Any, ClassVar, Self

from onlinefa.constraints import Constraints, check


class Parametrised:
    """Base of estimators and posteriors."""

    constraints: ClassVar[Constraints] = {}
    """What values parameters may have; those that are not here, any."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters by name. None has parameters of its own, to which `deep` might lead."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **values: Any) -> Self:
        """Change some of the parameters."""
        names = list(self._defaults())
        for name, value in values.items():
            if name not in names:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self}. "
                    f"Valid parameters are: {names}."
                )
            setattr(self, name, value)
        return self

    def check_parameters(self) -> None:
        """Refuse values that are not allowed: InvalidParameter says which, and what is."""
        for name, value in self.get_params().items():
            if name in self.constraints:
                check(type(self).__name__, name, value, self.constraints[name])

    def without_data(self) -> Self:
        """A new one with copies of the same parameters, as scikit-learn's `clone` makes it."""
        return type(self)(**copy.deepcopy(self.get_params()))

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """The constructor's parameters, sorted by name, and their defaults."""
        kind: Any = cls  # of which mypy sees that it has a hash
        return _defaults(kind)

    def __repr__(self) -> str:
        """The call that makes it, with the parameters that are not at their defaults."""
        defaults = {name: repr(default) for name, default in self._defaults().items()}
        values = {name: repr(value) for name, value in self.get_params().items()}
        changed = (f"{name}={value}" for name, value in values.items() if value != defaults[name])
        return f"{type(self).__name__}({', '.join(changed)})"


@cache  # an estimator that is given one row after the other asks for it with each of them
def _defaults(kind: type) -> dict[str, Any]:
    parameters = inspect.signature(kind).parameters
    return {name: parameters[name].default for name in sorted(parameters)}
