"""The Laplace approximation of all weights with Kronecker factors (laplace-torch)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from onlinefa_benchmark.deep_posteriors._laplace_torch import (
    CANDIDATES,
    FIRST_CANDIDATE,
    LAST_CANDIDATE,
    TorchLaplace,
)
from onlinefa_benchmark.deep_posteriors.base import Predictor

if TYPE_CHECKING:
    from onlinefa_benchmark.deep.task import DeepTask

_VALIDATION_SAMPLES = 10


class LaplaceKron(TorchLaplace):
    """Gaussian over all weights, with a Gauss-Newton matrix of Kronecker products for layers.

    Networks are drawn, and linearised. The closed form needs the Jacobian matrix of every image,
    which takes ten times as long as drawing 20 networks.

    Parameters
    ----------
    prior, validation_images
        As in `TorchLaplace`.
    """

    subset: ClassVar[str] = "all"
    structure: ClassVar[str] = "kron"

    def choose_prior(self, posterior: Any, task: DeepTask) -> None:
        """Set the precision of the prior to the one that predicts validation images best."""
        import torch

        batches = task.validation_batches(self.validation_images)
        labels = torch.cat([labels for _, labels in batches])
        losses = {}
        for precision in torch.logspace(FIRST_CANDIDATE, LAST_CANDIDATE, CANDIDATES).tolist():
            posterior.prior_precision = precision
            drawn = self._draw(posterior, task, _VALIDATION_SAMPLES)
            p = drawn.predict([inputs for inputs, _ in batches])
            losses[precision] = torch.nn.functional.nll_loss(p.log(), labels).item()
        posterior.prior_precision = min(losses, key=losses.__getitem__)

    def make_predictor(self, posterior: Any, task: DeepTask) -> Predictor:
        """Return the predictions of a posterior."""
        return self._draw(posterior, task, task.samples)

    def _draw(self, posterior: Any, task: DeepTask, networks: int) -> Predictor:
        from onlinefa_benchmark.deep.task import count_bytes
        from onlinefa_benchmark.deep_posteriors._linearised_draws import LinearisedDraws
        from onlinefa_benchmark.deep_posteriors._probit import list_sizes

        size = count_bytes(task.mode(), 1) + sum(list_sizes(posterior.H))
        return LinearisedDraws(posterior.model, posterior, networks, task.draw_seed(), size)
