"""IVON (Shen et al., 2024): variational learning with a diagonal Gaussian, by natural gradients."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.utils._param_validation import Interval

from onlinefa_benchmark.deep_posteriors.base import DeepPosterior, Predictor

if TYPE_CHECKING:
    from onlinefa_benchmark.deep.task import DeepTask


class IVON(DeepPosterior):
    """Networks drawn from the diagonal Gaussian that IVON learns instead of a mode.

    The optimiser is that of the package ivon-opt, whose licence is GPLv3 or later.

    Parameters
    ----------
    learning_rate : float
        First learning rate; it falls to zero along a cosine.
    hess_init : float
        Initial value of the diagonal of the Hessian matrix.
    """

    runs = 0
    needs: ClassVar[str | None] = "ivon"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "hess_init": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, *, learning_rate: float = 0.1, hess_init: float = 1.0) -> None:
        self.learning_rate = learning_rate
        self.hess_init = hess_init

    def build(self, task: DeepTask) -> Predictor:
        """Return the predictions of networks that are drawn from the Gaussian."""
        from onlinefa_benchmark.deep.ivon_descent import IVONDescent
        from onlinefa_benchmark.deep_posteriors._networks import OptimiserNetworks

        recipe = IVONDescent(
            task.schedule, len(task.data.training), self.learning_rate, self.hess_init
        )
        run = task.train_with(f"ivon-{self.learning_rate}-{self.hess_init}", recipe)
        assert isinstance(run.recipe, IVONDescent)
        return OptimiserNetworks(run.network.eval(), run.recipe.optimiser, task)
