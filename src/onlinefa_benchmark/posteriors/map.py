"""The most likely network, without uncertainty: the baseline of all posteriors."""

from __future__ import annotations

from onlinefa_benchmark.posteriors.base import Functions, Posterior, SampledFunctions, Task


class MAP(Posterior):
    """The network at a maximum of the posterior."""

    def functions(self, task: Task) -> Functions:
        """Return the function of the network."""
        return SampledFunctions(task.network.functions(task.modes(1), task.inputs))
