"""Monte-Carlo dropout (Gal and Ghahramani, 2016): units are dropped in predictions as well."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.utils._param_validation import Interval

from onlinefa_benchmark.deep_posteriors.base import DeepPosterior, Predictor

if TYPE_CHECKING:
    from onlinefa_benchmark.deep.task import DeepTask


class MCDropout(DeepPosterior):
    """A network that is trained with dropout, and whose predictions are averaged over it.

    Parameters
    ----------
    rate : float
        Probability that a unit in front of a linear layer is dropped.
    """

    runs = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "rate": [Interval(Real, 0, 1, closed="neither")]
    }

    def __init__(self, *, rate: float = 0.1) -> None:
        self.rate = rate

    def build(self, task: DeepTask) -> Predictor:
        """Return the predictions of the posterior."""
        from onlinefa_benchmark.deep.recipes import Descent
        from onlinefa_benchmark.deep_posteriors._networks import DroppedNetworks

        recipe = Descent(task.schedule, len(task.data.training), dropout=self.rate)
        run = task.train_with(f"dropout-{self.rate}", recipe)
        return DroppedNetworks(task.load(run.network.state_dict(), self.rate), task)
