"""Factor analysis of draws from the Laplace approximation: what a covariance FF' + psi can do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onlinefa.estimators.recursive_em import RecursiveEM
from onlinefa.gaussian import LowRankGaussian
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.construction import build_estimator
from onlinefa_benchmark.posteriors._linearised import Spread
from onlinefa_benchmark.posteriors.base import Task
from onlinefa_benchmark.posteriors.laplace_all import LaplaceOfAllWeights

_DRAWS, _BLOCK = 2000, 100


class LaplaceDraws(LaplaceOfAllWeights):
    """A covariance FF' + diag(psi) fitted to exact draws from the Laplace approximation.

    No walk can offer better weights to a factor analysis than independent draws. The distance from
    the Laplace approximation itself is therefore due to the form of the covariance: the posterior
    of a network is as wide as the prior in most directions and narrow in a few, and factors
    describe directions that are wider than the others.
    """

    def spread(self, task: Task, mode: Array, random: np.random.Generator) -> Spread:
        """Return the Gaussian that recursive EM fits to draws."""
        exact = super().spread(task, mode, random)
        state = int(random.integers(2**31))
        model = build_estimator(RecursiveEM, {}, n_components=task.K, random_state=state)
        for _ in range(0, _DRAWS, _BLOCK):
            model.partial_fit(exact.sample(_BLOCK, random))
        return _CovarianceSpread(model.gaussian())


@dataclass(frozen=True, eq=False)
class _CovarianceSpread:
    gaussian: LowRankGaussian

    def variances_along(self, J: Array, /) -> Array:
        return np.sum((J @ self.gaussian.factors) ** 2, axis=1) + J**2 @ self.gaussian.noise

    def sample(self, n: int, random_state: np.random.Generator, /) -> Array:
        return self.gaussian.sample(n, random_state) - self.gaussian.mean
