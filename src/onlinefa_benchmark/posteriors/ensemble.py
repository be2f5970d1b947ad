"""Deep ensembles (Lakshminarayanan et al., 2017): several maxima of the posterior."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from onlinefa_benchmark.posteriors.base import Functions, Posterior, SampledFunctions, Task


class Ensemble(Posterior):
    """Equally likely networks that are trained from different starts.

    Parameters
    ----------
    members : int
        Number of networks.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "members": [Interval(Integral, 2, None, closed="left")]
    }

    def __init__(self, *, members: int = 5) -> None:
        self.members = members

    def functions(self, task: Task) -> Functions:
        """Return the functions of the networks."""
        return SampledFunctions(task.network.functions(task.modes(self.members), task.inputs))
