"""Stepwise EM with averaged statistics (Cappe and Moulines, 2009)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from onlinefa.constraints import Constraints, above, at_least, whole
from onlinefa.estimators.base import FactorEstimator, FitDiverged
from onlinefa.gaussian import Array, LowRankGaussian
from onlinefa.warm_start import WarmStart

# As in online EM: out of reach of all columns but those that never vary.
_SMALLEST_NOISE = np.sqrt(np.finfo(np.float64).tiny)


class StepwiseEM(FactorEstimator):
    """Online EM that weighs the t-th row by (t + offset)^-exponent instead of 1 / t.

    Larger weights let the statistics forget what early, wrong models made of early rows, at the
    price of noise, which an average of the statistics over all rows takes away again (Polyak and
    Ruppert). The estimate is that of the averaged statistics.

    Parameters
    ----------
    n_components : K, the number of factors, below the number of columns
    exponent : how fast weights fall, above 0.5 and at most 1
    offset : how many rows later in that sequence the first weight is
    warm_up : rows whose variances set the scale of the initial model
    init_factors : array of shape (D, K), or None for random orthonormal ones; in units of the
        columns' standard deviations
    random_state : seed of the random initial factors

    Examples
    --------
    >>> import numpy as np
    >>> from onlinefa import StepwiseEM
    >>> rows = np.random.default_rng(0).normal(size=(500, 5)) @ np.diag([3, 1, 1, 1, 1])
    >>> StepwiseEM(n_components=1, random_state=0).fit(rows).components_.shape
    (1, 5)
    """

    constraints: ClassVar[Constraints] = {
        **FactorEstimator.constraints,
        "exponent": [above(0.5, most=1)],
        "offset": [at_least(0)],
        "warm_up": [whole(2)],
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
        factors = self._initial_factors(D, self.n_components)
        return _State(factors, self.warm_up, float(self.exponent), float(self.offset))


class _State(WarmStart):
    def __init__(self, factors: Array, warm_up: int, exponent: float, offset: float) -> None:
        super().__init__(factors, warm_up)
        self.exponent = exponent
        self.offset = offset

    def _begin(self, mean: Array, factors: Array, noise: Array) -> None:
        """The statistics that the initial model expects: E[z z'] = I, E[d z'] = F."""
        self.mean, self.psi = mean, np.maximum(noise, _SMALLEST_NOISE)
        self.F = np.ascontiguousarray(factors.T)
        self.A, self.B = self.F.copy(), np.eye(len(self.F))
        self.d2 = np.sum(self.F**2, axis=0) + self.psi
        self.means = self.A.copy(), self.B.copy(), self.d2.copy()

    def _learn(self, X: Array) -> None:
        from onlinefa.kernels import stepwise_em

        absorbed = stepwise_em.absorb(
            X, self.count, self.warm_up, self.exponent, self.offset, self.mean, self.F, self.psi,
            self.A, self.B, self.d2, *self.means, _SMALLEST_NOISE,
        )  # fmt: skip
        self.count += absorbed
        if absorbed < len(X):
            raise FitDiverged(f"stepwise EM diverged at observation {self.count + 1}")

    def _learned(self) -> LowRankGaussian:
        """The maximum for the averaged statistics, where E[z z'] is what it is and not yet I: it
        goes into the factors, so that variances are those of the rows."""
        A, B, d2 = self.means
        factors: Array = np.linalg.inv(np.linalg.cholesky(B)) @ A
        noise = np.clip(d2 - np.sum(factors**2, axis=0), 0, None)
        return LowRankGaussian(self.mean, factors.T, noise)
