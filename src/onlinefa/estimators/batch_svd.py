"""Batch SVD: scikit-learn's factor analysis as section 5.1 of the thesis uses it."""

from __future__ import annotations

import numpy as np

from onlinefa.estimators.base import FactorEstimator
from onlinefa.gaussian import Array, LowRankGaussian


class BatchSVD(FactorEstimator):
    """scikit-learn's `FactorAnalysis` with its randomised SVD and its default settings otherwise.

    It keeps all rows and fits them when a result is asked for. Mind that the default tolerance
    stops it after a few iterations, on the noise of the randomised SVD: it is not the maximum
    likelihood estimate. `BatchML` is.

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

    def __init__(self, n_components: int = 1, *, random_state: int | None = 0) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def _start(self, D: int) -> _State:
        return _State(self.n_components, self.random_state)


class _State:
    def __init__(self, K: int, random_state: int | None) -> None:
        self.count = 0
        self.K = K
        self.random_state = random_state
        self.blocks: list[Array] = []

    def absorb(self, X: Array) -> None:
        self.blocks.append(X.copy())
        self.count += len(X)

    def estimate(self) -> LowRankGaussian:
        from sklearn.decomposition import FactorAnalysis

        self.blocks = [np.concatenate(self.blocks)]
        model = FactorAnalysis(self.K, svd_method="randomized", random_state=self.random_state)
        model.fit(self.blocks[0])
        return LowRankGaussian(model.mean_, model.components_.T, model.noise_variance_)
