"""Online expectation-maximisation for factor analysis: Algorithm 2 of the thesis."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from onlinefa.estimators._constraints import INITIALIZATION, Constraints, allow_integers
from onlinefa.estimators._initial_factors import make_initial_factors
from onlinefa.estimators.base import FactorEstimator, FitDiverged
from onlinefa.gaussian import Array, LowRankGaussian


class OnlineEM(FactorEstimator):
    """Online EM, which processes every row once, in O(D K) memory and O(D K^2) time per row.

    Parameters
    ----------
    n_components : int, default=1
        Number of factors K, smaller than the number of columns.
    warm_up : int, default=100
        Number of rows during which the factors and the noise keep their initial values. It is at
        least one, because the first row determines only the mean.
    init_factors : array-like of shape (D, K) or None, default=None
        Initial factors. None draws random orthonormal ones.
    random_state : int, RandomState instance or None, default=None
        Seed of the random initial factors.

    Examples
    --------
    >>> import numpy as np
    >>> from onlinefa import OnlineEM
    >>> rows = np.random.default_rng(0).normal(size=(500, 5)) @ np.diag([3, 1, 1, 1, 1])
    >>> model = OnlineEM(n_components=1, random_state=0).fit(rows[:400]).partial_fit(rows[400:])
    >>> model.n_samples_seen_, model.gaussian().factors.shape
    (500, (5, 1))
    """

    single_precision = True

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": allow_integers(1),
        "warm_up": allow_integers(1),
        **INITIALIZATION,
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        warm_up: int = 100,
        init_factors: Array | None = None,
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.warm_up = warm_up
        self.init_factors = init_factors
        self.random_state = random_state

    def _start(self, D: int) -> _State:
        factors = make_initial_factors(
            D, self.n_components, self.init_factors, self.random_state, self._kind
        )
        return _State(factors, self.warm_up)


class _State:
    def __init__(self, factors: Array, warm_up: int) -> None:
        D, K = factors.shape
        dtype = factors.dtype
        self.count = 0
        self.warm_up = warm_up
        self.mean = np.zeros(D, dtype)
        self.F = np.ascontiguousarray(factors.T)
        self.psi = np.ones(D, dtype)
        self.A = np.zeros((K, D), dtype)
        self.B = np.zeros((K, K))
        self.d2 = np.zeros(D, dtype)
        # Algorithm 2 divides by psi, which becomes zero for a column that never varies. Only such
        # columns, whose factors are zero, reach so small a limit.
        self.smallest_noise = np.sqrt(np.finfo(dtype).tiny)

    def absorb(self, X: Array) -> None:
        from onlinefa.kernels import online_em

        absorbed = online_em.absorb(
            X,
            self.count,
            self.warm_up,
            self.mean,
            self.F,
            self.psi,
            self.A,
            self.B,
            self.d2,
            self.smallest_noise,
        )
        self.count += absorbed
        if absorbed < len(X):
            raise FitDiverged(f"online EM diverged at observation {self.count + 1}")

    def estimate(self) -> LowRankGaussian:
        return LowRankGaussian(self.mean, self.F.T, self.psi)
