"""Stepwise EM with averaged statistics (Cappe and Moulines, 2009)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from onlinefa.estimators._constraints import (
    INITIALIZATION,
    NON_NEGATIVE,
    Constraints,
    allow_integers,
    allow_reals,
)
from onlinefa.estimators._initial_factors import make_initial_factors
from onlinefa.estimators._warm_start import WarmStart
from onlinefa.estimators.base import FactorEstimator, FitDiverged
from onlinefa.gaussian import Array, LowRankGaussian

# As in online EM: only columns that never vary reach this limit.
_SMALLEST_NOISE = np.sqrt(np.finfo(np.float64).tiny)


class StepwiseEM(FactorEstimator):
    """Online EM that weights the t-th row by (t + offset)^-exponent instead of 1 / t.

    With larger weights, the expectations that early, inaccurate models computed for early rows are
    down-weighted faster. Larger weights also add noise, which an average of the statistics over all
    rows removes (Polyak and Ruppert). The estimate is that of the averaged statistics.

    Parameters
    ----------
    n_components : int, default=1
        Number of factors K, smaller than the number of columns.
    exponent : float, default=0.8
        Rate at which the weights decrease, above 0.5 and at most 1.
    offset : float, default=300.0
        Number added to t, which makes the first weights smaller.
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
    >>> from onlinefa import StepwiseEM
    >>> rows = np.random.default_rng(0).normal(size=(500, 5)) @ np.diag([3, 1, 1, 1, 1])
    >>> StepwiseEM(n_components=1, random_state=0).fit(rows).components_.shape
    (1, 5)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": allow_integers(1),
        "exponent": allow_reals(above=0.5, up_to=1),
        "offset": NON_NEGATIVE,
        "warm_up": allow_integers(2),
        **INITIALIZATION,
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        exponent: float = 0.8,
        offset: float = 300.0,
        warm_up: int = 100,
        init_factors: Array | None = None,
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.exponent = exponent
        self.offset = offset
        self.warm_up = warm_up
        self.init_factors = init_factors
        self.random_state = random_state

    def _start(self, D: int) -> _State:
        factors = make_initial_factors(
            D, self.n_components, self.init_factors, self.random_state, self._kind
        )
        return _State(factors, self.warm_up, float(self.exponent), float(self.offset))


class _State(WarmStart):
    def __init__(self, factors: Array, warm_up: int, exponent: float, offset: float) -> None:
        super().__init__(factors, warm_up)
        self.exponent = exponent
        self.offset = offset

    def _begin(self, mean: Array, factors: Array, noise: Array) -> None:
        """Start with the statistics that the initial model expects: E[z z'] = I, E[d z'] = F."""
        self.mean, self.psi = mean, np.maximum(noise, _SMALLEST_NOISE)
        self.F = np.ascontiguousarray(factors.T)
        self.A, self.B = self.F.copy(), np.eye(len(self.F))
        self.d2 = np.sum(self.F**2, axis=0) + self.psi
        self.means = self.A.copy(), self.B.copy(), self.d2.copy()

    def _learn(self, X: Array) -> None:
        from onlinefa.kernels import stepwise_em

        absorbed = stepwise_em.absorb(
            X,
            self.count,
            self.warm_up,
            self.exponent,
            self.offset,
            self.mean,
            self.F,
            self.psi,
            self.A,
            self.B,
            self.d2,
            *self.means,
            _SMALLEST_NOISE,
        )
        self.count += absorbed
        if absorbed < len(X):
            raise FitDiverged(f"stepwise EM diverged at observation {self.count + 1}")

    def _learned(self) -> LowRankGaussian:
        """Compute the maximum for the averaged statistics.

        Their E[z z'] is not I. It is merged into the factors, so that the variances are those of
        the rows.
        """
        A, B, d2 = self.means
        factors: Array = np.linalg.inv(np.linalg.cholesky(B)) @ A
        noise = np.clip(d2 - np.sum(factors**2, axis=0), 0, None)
        return LowRankGaussian(self.mean, factors.T, noise)
