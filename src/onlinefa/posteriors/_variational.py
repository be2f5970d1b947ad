"""Variational inference with a factor Gaussian N(c, FF' + diag(psi)) as the family.

The evidence lower bound is E log p(y | theta) - KL(q || N(0, I)). Its first term is estimated by
draws, through which gradients flow; the second is exact. PyTorch is imported when a fit begins: to
check settings takes none of it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from onlinefa.constraints import Constraints, above, whole
from onlinefa.gaussian import Array, LowRankGaussian
from onlinefa.posteriors.base import Functions, Posterior, SampledFunctions, Task

if TYPE_CHECKING:
    from onlinefa.models.training import Networks
    from onlinefa.posteriors._factor_family import FactorFamily

_NARROW = 0.1  # the standard deviation to begin with, in those of the prior


class Variational(Posterior):
    """The family's member with the largest bound, nearly: by Adam, from the mode."""

    constraints: ClassVar[Constraints] = {
        "steps": [whole(1)],
        "learning_rate": [above(0)],
        "draws": [whole(1)],
    }

    def __init__(self, *, steps: int = 2000, learning_rate: float = 0.03, draws: int = 8) -> None:
        self.steps = steps
        self.learning_rate = learning_rate
        self.draws = draws

    @abstractmethod
    def rank(self, task: Task) -> int:
        """How many factors the family has."""

    def functions(self, task: Task) -> Functions:
        return self.timed(task)[0]

    def timed(self, task: Task) -> tuple[Functions, float]:
        if task not in getattr(self, "_prepared", {}):
            self.prepare([task])
        member, seconds = self._prepared[task]
        start = perf_counter()
        # Here, and not before, who has diverged says so: others of the same lot may be fine.
        drawn = LowRankGaussian(*member).sample(task.samples, task.random("sampling"))
        functions = SampledFunctions(task.network.functions(drawn, task.inputs))
        return functions, seconds + perf_counter() - start

    def prepare(self, tasks: Sequence[Task]) -> None:
        """A step of one is all overhead."""
        _ = [task.mode for task in tasks]
        start = perf_counter()
        found = list(self.fit(tasks, tasks[0].random("sampling")))
        seconds = (perf_counter() - start) / len(tasks)
        self._prepared = {
            task: (member, seconds) for task, member in zip(tasks, found, strict=True)
        }

    def fit(
        self, tasks: Sequence[Task], random: np.random.Generator
    ) -> Iterator[tuple[Array, Array, Array]]:
        """Mean, factors and noise for each of them."""
        import torch

        from onlinefa.models.training import Networks

        networks = Networks([task.network for task in tasks])
        family = self._start(networks, tasks, random)
        noise = torch.Generator(device=networks.first.device)
        noise.manual_seed(int(random.integers(2**31)))
        optimiser = torch.optim.Adam(family.parameters(), lr=self.learning_rate)
        falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, self.steps)
        N = len(networks.first.y)
        for rows in networks.batches(self.draws, self.steps, min(tasks[0].batch, N), random):
            misfit = networks.misfit(family.draw(self.draws, noise), rows).mean(dim=1)
            loss = torch.sum(misfit + family.divergence() / N)
            slopes = torch.autograd.grad(loss, family.parameters())
            for values, slope in zip(family.parameters(), slopes, strict=True):
                values.grad = slope
            optimiser.step()
            falling.step()
        return family.members()

    def _start(
        self, networks: Networks, tasks: Sequence[Task], random: np.random.Generator
    ) -> FactorFamily:
        from onlinefa.posteriors._factor_family import FactorFamily

        B, D, K = len(tasks), networks.first.dimension, self.rank(tasks[0])
        factors = _NARROW / 10 * random.standard_normal((D, K))
        given = (
            np.array([task.mode for task in tasks]),
            np.broadcast_to(factors, (B, D, K)),
            np.full((B, D), 2 * np.log(_NARROW)),
        )
        return FactorFamily(*(networks.single(values).requires_grad_() for values in given))
