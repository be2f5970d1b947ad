"""The Laplace approximation of all weights in O(DK), from gradients of the training images."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.utils._param_validation import Interval

from onlinefa_benchmark.deep_posteriors.base import DeepPosterior, Predictor

if TYPE_CHECKING:
    from onlinefa.torch import LaplaceFA as LibraryLaplace
    from onlinefa_benchmark.deep.task import DeepTask


class LaplaceFA(DeepPosterior):
    """Gaussian around a mode whose precision is low rank plus diagonal, linearised predictions.

    The precision of the prior is the candidate that predicts validation images best.

    Parameters
    ----------
    validation_images : int
        Number of validation images.
    validation_samples : int
        Number of networks that are drawn for each candidate.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "validation_images": [Interval(Integral, 1, None, closed="left")],
        "validation_samples": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, *, validation_images: int = 500, validation_samples: int = 10) -> None:
        self.validation_images = validation_images
        self.validation_samples = validation_samples

    def build(self, task: DeepTask) -> Predictor:
        """Return the predictions of networks that are drawn from the Gaussians."""
        from onlinefa.torch import MultiPosterior
        from onlinefa_benchmark.deep.task import count_bytes
        from onlinefa_benchmark.deep_posteriors._networks import DrawnNetworks

        parts = [self._fit(task, number) for number in range(self.runs)]
        size = count_bytes(parts[0].model, task.K + 2, len(parts))
        posterior = parts[0] if len(parts) == 1 else MultiPosterior(parts)
        return DrawnNetworks(posterior, task, size)

    def _fit(self, task: DeepTask, number: int) -> LibraryLaplace:
        from onlinefa.torch import LaplaceFA as LibraryLaplace

        posterior = LibraryLaplace(task.mode(number), "classification", task.K)
        posterior.fit(task.training_batches(), random_state=task.draw_seed())
        return posterior.choose_prior_precision(
            task.validation_batches(self.validation_images), samples=self.validation_samples
        )
