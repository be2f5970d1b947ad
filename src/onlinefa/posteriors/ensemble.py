"""A deep ensemble: several maxima of the posterior, each as likely as the others."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from onlinefa.posteriors.base import Functions, Posterior, SampledFunctions, Task


class Ensemble(Posterior):
    """Networks from different starts."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "members": [Interval(Integral, 2, None, closed="left")]
    }

    def __init__(self, *, members: int = 5) -> None:
        self.members = members

    def functions(self, task: Task) -> Functions:
        return SampledFunctions(task.network.functions(task.modes(self.members), task.inputs))
