"""Gaussians that are fitted to walks of SGD: one, or a mixture over independent runs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from numbers import Integral
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from onlinefa.estimators._initial_factors import orthonormal_factors
from onlinefa.estimators.base import FactorEstimator
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.construction import build_estimator
from onlinefa_benchmark.posteriors.base import Functions, Posterior, SampledFunctions, Task


class WalkPosterior(Posterior):
    """A Gaussian for each of several runs, from which networks are drawn in equal numbers.

    The runs start from different maxima of the posterior, so that a mixture covers several maxima
    where a single Gaussian covers the neighbourhood of one.

    Attributes
    ----------
    runs : int
        Number of runs.
    """

    stochastic: ClassVar[bool] = True
    runs: int = 1

    @abstractmethod
    def estimator(self, **offered: Any) -> FactorEstimator:
        """Return a new estimator for a run.

        Parameters
        ----------
        **offered
            ``n_components``, ``init_factors`` and ``random_state``.
        """

    def rows(self, task: Task, run: int) -> Iterable[Array]:
        """Return the weights that the estimator of a run is fitted to."""
        return task.walk(run)

    def functions(self, task: Task) -> Functions:
        """Return the functions of networks drawn from the Gaussians."""
        return self.timed(task)[0]

    def timed(self, task: Task) -> tuple[Functions, float]:
        """Return the functions and the time of the estimators.

        The time of SGD, which several posteriors share, and of evaluating networks is not included.
        """
        init, sampling = task.random("init"), task.random("sampling")
        drawn, seconds = [], 0.0
        for run, number in enumerate(_split_equally(task.samples, self.runs)):
            Q = orthonormal_factors(init.standard_normal((task.network.dimension, task.K)))
            state = int(sampling.integers(2**31))
            model = self.estimator(n_components=task.K, init_factors=Q, random_state=state)
            for rows in self.rows(task, run):
                start = perf_counter()
                model.partial_fit(rows)
                seconds += perf_counter() - start
            start = perf_counter()
            gaussian = model.gaussian()
            seconds += perf_counter() - start
            drawn.append(gaussian.sample(number, sampling))
        return SampledFunctions(task.network.functions(np.concatenate(drawn), task.inputs)), seconds


class WalkMixture(WalkPosterior):
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

    def estimator(self, **offered: Any) -> FactorEstimator:
        """Return a new estimator with its default parameters."""
        return build_estimator(self.kind, {}, **offered)


class OneWalk(WalkPosterior):
    """A Gaussian that any estimator fits to the walk of one run.

    Parameters
    ----------
    build : callable
        Return a new estimator, given ``n_components``, ``init_factors`` and ``random_state``.
    """

    def __init__(self, build: Callable[..., FactorEstimator]) -> None:
        self.build = build

    def estimator(self, **offered: Any) -> FactorEstimator:
        """Return a new estimator."""
        return self.build(**offered)


def _split_equally(samples: int, runs: int) -> Iterator[int]:
    """Yield the number of samples of each run; the first runs have one more if necessary."""
    for part in np.array_split(np.arange(samples), runs):
        yield len(part)
