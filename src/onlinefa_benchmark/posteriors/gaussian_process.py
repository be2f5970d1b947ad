"""The Gaussian process that is the limit of wide networks, with which posteriors are compared."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from onlinefa_benchmark.posteriors.base import Functions, GaussianFunctions, Posterior, Task


class ExactProcess(Posterior):
    """The exact posterior of the Gaussian process.

    Its distance from the truth is zero; it is measured for its predictions of the test data.
    """

    trained: ClassVar[bool] = False
    reference: ClassVar[bool] = True

    def functions(self, task: Task) -> Functions:
        """Return the process at the task's inputs."""
        mean, variance = task.process.predict(task.inputs)
        return GaussianFunctions(mean, np.sqrt(variance))
