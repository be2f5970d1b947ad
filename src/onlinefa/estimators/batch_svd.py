"""Batch SVD: the factor analysis of scikit-learn, as section 5.1 of the thesis uses it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.decomposition import FactorAnalysis

from onlinefa.estimators._constraints import Constraints, allow_integers
from onlinefa.estimators._moments import RunningMoments
from onlinefa.estimators.base import FactorEstimator
from onlinefa.gaussian import Array, LowRankGaussian


class BatchSVD(FactorEstimator):
    """Factor analysis of scikit-learn with its randomised SVD and default settings otherwise.

    With its default tolerance, `sklearn.decomposition.FactorAnalysis` stops after a few iterations,
    because of the noise of the randomised SVD. The result is not the maximum likelihood estimate,
    which `BatchML` computes.

    The factors and the noise depend on the rows through their covariance alone. If there are more
    than 2 D rows, `FactorAnalysis` is fitted to 2 D rows with the same covariance, which gives the
    same result up to rounding in O(D^2) memory.

    Parameters
    ----------
    n_components : int, default=1
        Number of factors K, smaller than the number of columns.
    random_state : int, RandomState instance or None, default=0
        Seed of the randomised SVD; the default is that of scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from onlinefa import BatchSVD
    >>> BatchSVD(n_components=2).fit(np.random.default_rng(0).normal(size=(50, 5))).mean_.shape
    (5,)
    """

    online = False

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": allow_integers(1),
        "random_state": ["random_state"],
    }

    def __init__(self, n_components: int = 1, *, random_state: int | None = 0) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def _start(self, D: int) -> _State:
        return _State(D, self.n_components, self.random_state)


class _State(RunningMoments):
    def __init__(self, D: int, K: int, random_state: int | None) -> None:
        super().__init__(D, full=True)
        self.K = K
        self.random_state = random_state
        self.rows = np.empty((0, D))  # all rows while there are at most 2 D of them, then none

    def absorb(self, X: Array) -> None:
        super().absorb(X)
        few = self.count <= 2 * X.shape[1]
        self.rows = np.concatenate([self.rows, X]) if few else self.rows[:0]

    def estimate(self) -> LowRankGaussian:
        rows = self.rows if len(self.rows) else self._equivalent_rows()
        default = FactorAnalysis(
            self.K, svd_method="randomized", random_state=self.random_state, copy=False
        )
        # The tolerance bounds the growth of the log-likelihood, which is a sum over the rows.
        model = default.set_params(tol=default.tol * len(rows) / self.count).fit(rows.copy())
        return LowRankGaussian(self.mean, model.components_.T, model.noise_variance_)

    def _equivalent_rows(self) -> Array:
        """Compute 2 D rows with mean zero and the same covariance."""
        eigenvalues, V = np.linalg.eigh(self.second)
        root = np.sqrt(np.clip(len(V) * eigenvalues, 0, None))[:, None] * V.T
        return np.concatenate([root, -root])
