"""A deep ensemble: several maxima of the posterior, each as likely as the others."""

from __future__ import annotations

from typing import ClassVar

from onlinefa.constraints import Constraints, whole
from onlinefa.posteriors.base import Functions, Posterior, SampledFunctions, Task


class Ensemble(Posterior):
    """Networks from different starts."""

    constraints: ClassVar[Constraints] = {"members": [whole(2)]}

    def __init__(self, *, members: int = 5) -> None:
        self.members = members

    def functions(self, task: Task) -> Functions:
        return SampledFunctions(task.network.functions(task.modes(self.members), task.inputs))
