"""The most likely network, and no uncertainty: the control that every posterior must beat."""

from __future__ import annotations

from onlinefa.posteriors.base import Functions, Posterior, SampledFunctions, Task


class MAP(Posterior):
    """A maximum of the posterior."""

    def functions(self, task: Task) -> Functions:
        return SampledFunctions(task.network.functions(task.modes(1), task.inputs))
