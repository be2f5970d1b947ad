"""Online stochastic gradient ascent for factor analysis: Algorithm 1 of the thesis."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from onlinefa.constraints import Constraints, above
from onlinefa.estimators.base import FactorEstimator, FitDiverged
from onlinefa.gaussian import Array, LowRankGaussian


class OnlineSGA(FactorEstimator):
    """Gradient ascent on the log-likelihood of one observation after the other.

    Parameters
    ----------
    n_components : K, the number of factors, below the number of columns
    learning_rate : the step along the gradient of the factors and of beta = log psi
    warm_up : observations during which only the running mean moves
    init_factors : array of shape (D, K), or None for random orthonormal ones
    random_state : seed of the random initial factors

    Examples
    --------
    >>> import numpy as np
    >>> from onlinefa import OnlineSGA
    >>> rows = np.random.default_rng(0).normal(size=(500, 5))
    >>> OnlineSGA(n_components=2, learning_rate=0.01, random_state=0).fit(rows).components_.shape
    (2, 5)
    """

    single_precision = True

    constraints: ClassVar[Constraints] = {
        **FactorEstimator.constraints,
        "learning_rate": [above(0)],
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
        return _State(self._initial_factors(D, self.n_components), self.learning_rate, self.warm_up)


class _State:
    def __init__(self, factors: Array, learning_rate: float, warm_up: int) -> None:
        D, dtype = len(factors), factors.dtype
        self.count = 0
        self.learning_rate = float(learning_rate)
        self.warm_up = warm_up
        self.mean = np.zeros(D, dtype)
        self.F = np.ascontiguousarray(factors.T)
        self.psi = np.ones(D, dtype)

    def absorb(self, X: Array) -> None:
        from onlinefa.kernels import online_sga

        absorbed = online_sga.absorb(
            X, self.count, self.warm_up, self.learning_rate, False, self.mean, self.F, self.psi
        )
        self.count += absorbed
        if absorbed < len(X):
            raise FitDiverged(f"online SGA diverged at observation {self.count + 1}")

    def estimate(self) -> LowRankGaussian:
        return LowRankGaussian(self.mean, self.F.T, self.psi)
