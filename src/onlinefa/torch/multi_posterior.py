"""Mixtures of posteriors, one for each of several training runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from torch import Tensor

from onlinefa.torch.posterior import Draws, Posterior

__all__ = ["MultiPosterior"]


class MultiPosterior(Posterior):
    """Mixture of posteriors with equal weights.

    With a posterior for each of several independent training runs, SWAG becomes MultiSWAG (Wilson
    and Izmailov, 2020). The posteriors may be of different kinds.

    Parameters
    ----------
    posteriors : sequence of Posterior
        The posteriors. As far as possible, the same number of networks is drawn from each of them.

    Examples
    --------
    >>> import torch
    >>> from onlinefa import SWAG
    >>> from onlinefa.torch import MultiPosterior, WeightPosterior
    >>> runs = []
    >>> for seed in range(3):
    ...     model = torch.nn.Linear(3, 1)
    ...     posterior = WeightPosterior(model, SWAG(n_components=2))
    ...     for _ in range(10):
    ...         _ = torch.nn.init.normal_(model.weight)  # your training step
    ...         posterior.update()
    ...     runs.append(posterior)
    >>> MultiPosterior(runs).predict(torch.randn(5, 3), samples=30, random_state=0).shape
    torch.Size([30, 5, 1])
    """

    def __init__(self, posteriors: Sequence[Posterior]) -> None:
        if not posteriors:
            raise ValueError("posteriors is empty")
        for each in posteriors:
            if not isinstance(each, Posterior):
                raise TypeError(f"posteriors has a {type(each).__name__}, which is not a posterior")
        self.posteriors = list(posteriors)

    def __repr__(self) -> str:
        """Describe the mixture."""
        return f"MultiPosterior({self.posteriors!r})"

    def _draw_outputs(self, draws: Draws) -> Iterator[Tensor]:
        number, others = divmod(draws.samples, len(self.posteriors))
        for position, posterior in enumerate(self.posteriors):
            own = number + (position < others)
            if own:
                yield from posterior._draw_outputs(replace(draws, samples=own))
