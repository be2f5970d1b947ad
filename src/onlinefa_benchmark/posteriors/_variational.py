"""Variational inference with a factor Gaussian N(c, FF' + diag(psi)) as the family.

The evidence lower bound is E log p(y | theta) - KL(q || N(0, I)). Its first term is estimated from
draws, through which gradients are computed; the second is exact. PyTorch is imported when a fit
begins, because checking parameters does not need it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from onlinefa.gaussian import LowRankGaussian
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.posteriors.base import Functions, Posterior, SampledFunctions, Task

if TYPE_CHECKING:
    from onlinefa_benchmark.models.training import Networks
    from onlinefa_benchmark.posteriors._factor_family import FactorFamily

_DRAWS = 200  # from which bounds are estimated


class Variational(Posterior):
    """The Gaussian that approximately maximises the evidence lower bound, by Adam from the mode.

    Parameters
    ----------
    steps : int
        Number of steps.
    learning_rate : float
        Initial learning rate; it falls to zero.
    draws : int
        Number of networks that are drawn in a step.
    """

    stochastic: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "steps": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "draws": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, *, steps: int = 2000, learning_rate: float = 0.03, draws: int = 8) -> None:
        self.steps = steps
        self.learning_rate = learning_rate
        self.draws = draws

    def functions(self, task: Task) -> Functions:
        """Return the functions of networks drawn from the Gaussian."""
        return self.timed(task)[0]

    def timed(self, task: Task) -> tuple[Functions, float]:
        """Return the functions and the time, which includes the task's share of `prepare`."""
        if task not in getattr(self, "_prepared", {}):
            self.prepare([task])
        parameters, seconds = self._prepared[task]
        start, random = perf_counter(), task.random("sampling")
        # A fit that diverged fails here and not in `prepare`: others that were fitted with it may
        # have converged.
        gaussian = LowRankGaussian(*parameters)
        values = task.network.functions(gaussian.sample(task.samples, random), task.inputs)
        seconds += perf_counter() - start
        return SampledFunctions(values, self._diagnose(task, gaussian, random)), seconds

    def _diagnose(
        self, task: Task, gaussian: LowRankGaussian, random: np.random.Generator
    ) -> dict[str, float]:
        """Return estimates of the bounds of the log evidence, in nats."""
        from onlinefa_benchmark.models.bounds import estimate_bounds

        bounds = estimate_bounds(task.network, gaussian, _DRAWS, random)
        return {
            "evidence_lower_bound": bounds.lower,
            "importance_weighted_bound": bounds.importance_weighted,
        }

    def prepare(self, tasks: Sequence[Task]) -> None:
        """Fit the Gaussians of several tasks together.

        The time of a step with one small network is mostly overhead.
        """
        _ = [task.mode for task in tasks]
        start = perf_counter()
        found = list(self.fit(tasks, tasks[0].random("sampling")))
        seconds = (perf_counter() - start) / len(tasks)
        self._prepared = {
            task: (parameters, seconds) for task, parameters in zip(tasks, found, strict=True)
        }

    def fit(
        self, tasks: Sequence[Task], random: np.random.Generator
    ) -> Iterator[tuple[Array, Array, Array]]:
        """Fit a Gaussian for each task.

        Parameters
        ----------
        tasks : sequence of Task
            Tasks whose networks have the same shape and the same table.
        random : numpy.random.Generator
            Source of random numbers.

        Returns
        -------
        iterator of tuple
            Mean, factors and noise for each task.
        """
        from onlinefa_benchmark.models.training import Networks

        networks = Networks([task.network for task in tasks])
        return self._fit(networks, tasks, random).members()

    @abstractmethod
    def _fit(
        self, networks: Networks, tasks: Sequence[Task], random: np.random.Generator
    ) -> FactorFamily:
        """Return Gaussians with a large bound."""

    def _fit_independent(
        self, networks: Networks, tasks: Sequence[Task], random: np.random.Generator
    ) -> FactorFamily:
        """Return Gaussians with independent weights and a large bound.

        They start at the modes, with the variances that have the largest bound for networks that
        are linearised there: with the precision P, these are 1 / P_ii.
        """
        from onlinefa_benchmark.models.mode_search import sampled_curvature_rows

        start = []
        for task in tasks:
            precision = 1 + np.sum(sampled_curvature_rows(task.network, task.mode) ** 2, axis=0)
            start.append((task.mode, np.empty((len(precision), 0)), 1 / precision))
        return self._maximise(make_family(networks, start), networks, tasks, random)

    def _maximise(
        self,
        family: FactorFamily,
        networks: Networks,
        tasks: Sequence[Task],
        random: np.random.Generator,
    ) -> FactorFamily:
        """Increase the bounds by Adam."""
        import torch

        noise = torch.Generator(device=networks.first.device)
        noise.manual_seed(int(random.integers(2**31)))
        optimiser = torch.optim.Adam(family.parameters(), lr=self.learning_rate)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, self.steps)
        N = len(networks.first.y)
        for rows in networks.batches(self.draws, self.steps, min(tasks[0].batch, N), random):
            drawn = family.draw(self.draws, noise)
            # This product has the gradients of the misfit with respect to the parameters.
            slopes = networks.misfit_gradient(drawn.detach(), rows) / self.draws
            loss = torch.sum(slopes * drawn) + torch.sum(family.divergence()) / N
            gradients = torch.autograd.grad(loss, family.parameters())
            for values, gradient in zip(family.parameters(), gradients, strict=True):
                values.grad = gradient
            optimiser.step()
            schedule.step()
        return family


def make_family(networks: Networks, members: Sequence[tuple[Array, Array, Array]]) -> FactorFamily:
    """Return Gaussians to be optimised, given mean, factors and noise of each."""
    from onlinefa_benchmark.posteriors._factor_family import FactorFamily

    stacked = (np.array(values) for values in zip(*members, strict=True))
    return FactorFamily.at(*(networks.single(values) for values in stacked))
