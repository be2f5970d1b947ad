"""Online gradient ascent in units of the noise: Algorithm 1 with a preconditioner."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from onlinefa.estimators._constraints import INITIALIZATION, POSITIVE, Constraints, allow_integers
from onlinefa.estimators._initial_factors import make_initial_factors
from onlinefa.estimators._warm_start import WarmStart
from onlinefa.estimators.base import FactorEstimator, FitDiverged
from onlinefa.gaussian import Array, LowRankGaussian


class PreconditionedSGA(FactorEstimator):
    """Online gradient ascent with the gradient of the factors multiplied by psi.

    The gradient with respect to the factors, (4.24), has the inverse of their units, so that a
    learning rate that suits data of one scale is too large or too small at another. Multiplied by
    psi, column by column, it has the units of the factors. The gradient with respect to log psi,
    (4.26), has no units and is the same as in `OnlineSGA`.

    Parameters
    ----------
    n_components : int, default=1
        Number of factors K, smaller than the number of columns.
    learning_rate : float, default=0.001
        Step along the preconditioned gradient.
    warm_up : int, default=100
        Number of rows whose variances set the scale of the initial model, at least two.
    init_factors : array-like of shape (D, K) or None, default=None
        Initial factors, in units of the standard deviations of the columns. None draws random
        orthonormal ones.
    random_state : int, RandomState instance or None, default=None
        Seed of the random initial factors.

    Examples
    --------
    >>> import numpy as np
    >>> from onlinefa import PreconditionedSGA
    >>> rows = np.random.default_rng(0).normal(size=(500, 5))
    >>> PreconditionedSGA(n_components=2, random_state=0).fit(rows).components_.shape
    (2, 5)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": allow_integers(1),
        "learning_rate": POSITIVE,
        "warm_up": allow_integers(2),
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
        return _State(factors, self.warm_up, float(self.learning_rate))


class _State(WarmStart):
    def __init__(self, factors: Array, warm_up: int, learning_rate: float) -> None:
        super().__init__(factors, warm_up)
        self.learning_rate = learning_rate

    def _begin(self, mean: Array, factors: Array, noise: Array) -> None:
        self.mean = mean
        self.F = np.ascontiguousarray(factors.T)
        # The algorithm divides by the noise: a column that has not varied yet gets the mean noise.
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
