"""Gaussians that are fitted to SGD's walks: one, or a mixture over independent runs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from onlinefa import estimators
from onlinefa.constraints import Constraints, whole
from onlinefa.estimators.base import FactorEstimator, orthonormal_factors
from onlinefa.posteriors.base import Functions, Posterior, SampledFunctions, Task


class FromWalks(Posterior):
    """Of each run a Gaussian, and networks drawn from all of them in equal numbers.

    The runs start from maxima of the posterior that different starts have led to, so that a mixture
    has several of them where one Gaussian has the surroundings of one.
    """

    stochastic: ClassVar[bool] = True
    runs: int = 1

    @abstractmethod
    def estimator(self, **offered: Any) -> FactorEstimator:
        """A new one, for a run."""

    def functions(self, task: Task) -> Functions:
        return self.timed(task)[0]

    def timed(self, task: Task) -> tuple[Functions, float]:
        """Without the time of walking, which all share, and of evaluating networks."""
        init, sampling = task.random("init"), task.random("sampling")
        drawn, seconds = [], 0.0
        for run, number in enumerate(_equally(task.samples, self.runs)):
            Q = orthonormal_factors(init.standard_normal((task.network.dimension, task.K)))
            state = int(sampling.integers(2**31))
            model = self.estimator(n_components=task.K, init_factors=Q, random_state=state)
            for rows in task.walk(run):
                start = perf_counter()
                model.partial_fit(rows)
                seconds += perf_counter() - start
            start = perf_counter()
            gaussian = model.gaussian()
            seconds += perf_counter() - start
            drawn.append(gaussian.sample(number, sampling))
        return SampledFunctions(task.network.functions(np.concatenate(drawn), task.inputs)), seconds


class Mixture(FromWalks):
    """Of one kind of estimator, over several runs.

    A file that subclasses it says which kind, and has the setting `runs` in a constructor of its
    own, where it is read from without importing anything.
    """

    kind: ClassVar[type[FactorEstimator]]

    constraints: ClassVar[Constraints] = {"runs": [whole(1)]}

    def estimator(self, **offered: Any) -> FactorEstimator:
        return estimators.construct(self.kind, {}, **offered)


class OneWalk(FromWalks):
    """Any estimator, on the walk of one run."""

    def __init__(self, name: str, settings: dict[str, Any]) -> None:
        self.name = name
        self.settings = settings

    def estimator(self, **offered: Any) -> FactorEstimator:
        return estimators.build(self.name, self.settings, **offered)


def _equally(samples: int, runs: int) -> Iterator[int]:
    """How many of each run; the first have one more, if they must."""
    for part in np.array_split(np.arange(samples), runs):
        yield len(part)
