"""Gaussians that estimators fit to walks of SGD: one, or a mixture over independent runs."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.utils._param_validation import Interval

from onlinefa.estimators.base import FactorEstimator
from onlinefa_benchmark.construction import build_estimator
from onlinefa_benchmark.deep_posteriors.base import DeepPosterior, Predictor

if TYPE_CHECKING:
    from onlinefa_benchmark.deep.task import DeepTask


class Walks(DeepPosterior):
    """A mixture of the Gaussians that an estimator fits to the walks of some runs.

    Parameters
    ----------
    make_estimator : callable
        Return a new estimator, given ``n_components`` and ``random_state``.
    runs : int, default=1
        Number of runs.
    """

    def __init__(self, make_estimator: Callable[..., FactorEstimator], runs: int = 1) -> None:
        self.make_estimator = make_estimator
        self.runs = runs

    def observer(self, K: int, random_state: int) -> FactorEstimator:
        """Return the estimator that learns from the walk of each run."""
        return self.make_estimator(n_components=K, random_state=random_state)

    def build(self, task: DeepTask) -> Predictor:
        """Return the predictions of networks that are drawn from the mixture."""
        from onlinefa_benchmark.deep_posteriors._networks import mix_walks

        estimator = self.observer(task.K, task.estimator_seed)
        return mix_walks([task.walk(run, estimator) for run in range(self.runs)], task)


class WalkMixture(Walks):
    """A mixture of Gaussians, one for each run, all fitted by the same kind of estimator.

    Parameters
    ----------
    runs : int
        Number of runs.

    Attributes
    ----------
    kind : type
        Class of the estimator; a subclass defines it.
    """

    kind: ClassVar[type[FactorEstimator]]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "runs": [Interval(Integral, 1, None, closed="left")]
    }

    def __init__(self, *, runs: int = 5) -> None:
        self.runs = runs

    def make_estimator(self, **offered: Any) -> FactorEstimator:
        """Return a new estimator with its default parameters."""
        return build_estimator(self.kind, {}, **offered)
