"""Online stochastic gradient ascent for factor analysis: Algorithm 1 of the thesis."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from onlinefa.estimators._constraints import INITIALIZATION, POSITIVE, Constraints, allow_integers
from onlinefa.estimators._initial_factors import make_initial_factors
from onlinefa.estimators.base import FactorEstimator, FitDiverged
from onlinefa.gaussian import Array, LowRankGaussian


class OnlineSGA(FactorEstimator):
    """Online gradient ascent on the log-likelihood of one row at a time.

    Parameters
    ----------
    n_components : int, default=1
        Number of factors K, smaller than the number of columns.
    learning_rate : float, default=0.001
        Step along the gradient of the factors and of beta = log psi.
    warm_up : int, default=100
        Number of rows during which only the running mean changes.
    init_factors : array-like of shape (D, K) or None, default=None
        Initial factors. None draws random orthonormal ones.
    random_state : int, RandomState instance or None, default=None
        Seed of the random initial factors.

    Examples
    --------
    >>> import numpy as np
    >>> from onlinefa import OnlineSGA
    >>> rows = np.random.default_rng(0).normal(size=(500, 5))
    >>> OnlineSGA(n_components=2, learning_rate=0.01, random_state=0).fit(rows).components_.shape
    (2, 5)
    """

    single_precision = True

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": allow_integers(1),
        "learning_rate": POSITIVE,
        "warm_up": allow_integers(0),
        **INITIALIZATION,
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
        factors = make_initial_factors(
            D, self.n_components, self.init_factors, self.random_state, self._kind
        )
        return _State(factors, self.learning_rate, self.warm_up)


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
