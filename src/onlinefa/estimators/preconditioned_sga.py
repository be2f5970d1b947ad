"""Online gradient ascent in units of the noise: Algorithm 1 with a preconditioner."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from onlinefa.constraints import Constraints, above, whole
from onlinefa.estimators.base import FactorEstimator, FitDiverged
from onlinefa.gaussian import Array, LowRankGaussian
from onlinefa.warm_start import WarmStart


class PreconditionedSGA(FactorEstimator):
    """`OnlineSGA` with the gradient of the factors multiplied by psi, column by column.

    The gradient with respect to the factors, (4.24), has the inverse of their units, so that a rate
    that suits data of one scale overshoots or crawls at another. Times psi it has their own units.
    That with respect to log psi, (4.26), has none and stays as it is.

    Parameters
    ----------
    n_components : K, the number of factors, below the number of columns
    learning_rate : the step along the preconditioned gradient
    warm_up : rows whose variances set the scale of the initial model
    init_factors : array of shape (D, K), or None for random orthonormal ones; in units of the
        columns' standard deviations
    random_state : seed of the random initial factors

    Examples
    --------
    >>> import numpy as np
    >>> from onlinefa import PreconditionedSGA
    >>> rows = np.random.default_rng(0).normal(size=(500, 5))
    >>> PreconditionedSGA(n_components=2, random_state=0).fit(rows).components_.shape
    (2, 5)
    """

    constraints: ClassVar[Constraints] = {
        **FactorEstimator.constraints,
        "learning_rate": [above(0)],
        "warm_up": [whole(2)],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        learning_rate: float = 0.001,
        warm_up: int = 100,
        init_factors: Array | None = None,
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.learning_rate = learning_rate
        self.warm_up = warm_up
        self.init_factors = init_factors
        self.random_state = random_state

    def _start(self, D: int) -> _State:
        factors = self._initial_factors(D, self.n_components)
        return _State(factors, self.warm_up, float(self.learning_rate))


class _State(WarmStart):
    def __init__(self, factors: Array, warm_up: int, learning_rate: float) -> None:
        super().__init__(factors, warm_up)
        self.learning_rate = learning_rate

    def _begin(self, mean: Array, factors: Array, noise: Array) -> None:
        self.mean = mean
        self.F = np.ascontiguousarray(factors.T)
        # A column that has not varied yet needs some noise to divide by: as much as the others.
        self.psi = np.where(noise > 0, noise, noise.mean() or 1.0)

    def _learn(self, X: Array) -> None:
        from onlinefa.kernels import online_sga

        absorbed = online_sga.absorb(
            X, self.count, 0, self.learning_rate, True, self.mean, self.F, self.psi
        )
        self.count += absorbed
        if absorbed < len(X):
            raise FitDiverged(f"preconditioned SGA diverged at observation {self.count + 1}")

    def _learned(self) -> LowRankGaussian:
        return LowRankGaussian(self.mean, self.F.T, self.psi)
