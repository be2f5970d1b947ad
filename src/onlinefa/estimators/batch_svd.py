"""Batch SVD: scikit-learn's factor analysis as section 5.1 of the thesis uses it."""

from __future__ import annotations

import numpy as np

from onlinefa.estimators.base import FactorEstimator
from onlinefa.gaussian import Array, LowRankGaussian
from onlinefa.moments import RunningMoments


class BatchSVD(FactorEstimator):
    """scikit-learn's `FactorAnalysis` with its randomised SVD and its default settings otherwise.

    Mind that the default tolerance stops it after a few iterations, on the noise of the randomised
    SVD: it is not the maximum likelihood estimate. `BatchML` is.

    What scikit-learn computes depends on the rows through their mean and covariance alone, and so
    it is given 2 D rows that have them, instead of rows without number: the same result to
    rounding, in O(D^2) memory.

    Parameters
    ----------
    n_components : K, the number of factors, below the number of columns
    random_state : seed of the randomised SVD; 0 is scikit-learn's default

    Examples
    --------
    >>> import numpy as np
    >>> from onlinefa import BatchSVD
    >>> BatchSVD(n_components=2).fit(np.random.default_rng(0).normal(size=(50, 5))).mean_.shape
    (5,)
    """

    online = False

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
        self.rows = np.empty((0, D))  # as long as there are no more than 2 D

    def absorb(self, X: Array) -> None:
        super().absorb(X)
        few = self.count <= 2 * X.shape[1]
        self.rows = np.concatenate([self.rows, X]) if few else self.rows[:0]

    def estimate(self) -> LowRankGaussian:
        from sklearn.decomposition import FactorAnalysis

        rows = self.rows if len(self.rows) else self._equivalent_rows()
        default = FactorAnalysis(
            self.K, svd_method="randomized", random_state=self.random_state, copy=False
        )
        # The log-likelihood, whose growth the tolerance bounds, is a sum over the rows.
        model = default.set_params(tol=default.tol * len(rows) / self.count).fit(rows.copy())
        return LowRankGaussian(self.mean, model.components_.T, model.noise_variance_)

    def _equivalent_rows(self) -> Array:
        """2 D rows with mean zero and the same covariance."""
        eigenvalues, V = np.linalg.eigh(self.second)
        root = np.sqrt(np.clip(len(V) * eigenvalues, 0, None))[:, None] * V.T
        return np.concatenate([root, -root])
