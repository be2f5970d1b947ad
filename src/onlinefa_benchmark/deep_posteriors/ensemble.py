"""Deep ensembles (Lakshminarayanan et al., 2017): several trained networks."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.utils._param_validation import Interval

from onlinefa_benchmark.deep_posteriors.base import DeepPosterior, Predictor

if TYPE_CHECKING:
    from onlinefa_benchmark.deep.task import DeepTask


class Ensemble(DeepPosterior):
    """Equally likely networks that are trained from different starts.

    Parameters
    ----------
    runs : int
        Number of networks.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "runs": [Interval(Integral, 2, None, closed="left")]
    }

    def __init__(self, *, runs: int = 5) -> None:
        self.runs = runs

    def build(self, task: DeepTask) -> Predictor:
        """Return the predictions of the networks."""
        from onlinefa_benchmark.deep_posteriors._networks import FixedNetworks

        return FixedNetworks([task.mode(number) for number in range(self.runs)])
