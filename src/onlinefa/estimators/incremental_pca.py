"""Incremental principal components with a diagonal remainder."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from onlinefa.constraints import Constraints, whole
from onlinefa.estimators.base import FactorEstimator
from onlinefa.gaussian import Array, LowRankGaussian
from onlinefa.moments import RunningMoments
from onlinefa.recursion import Blocks


class IncrementalPCA(FactorEstimator):
    """scikit-learn's `IncrementalPCA`, made a factor analysis: what is left is a diagonal.

    The factors are the K leading principal components; as in probabilistic PCA, the mean variance
    of the others is taken off theirs. Noise is what remains of each column's variance. Principal
    components maximise variance, not likelihood: a column in larger units counts for more.

    Parameters
    ----------
    n_components : K, the number of factors, below the number of columns
    block_size : rows that are absorbed at once, or K if that is more; they are kept until then

    Examples
    --------
    >>> import numpy as np
    >>> from onlinefa import IncrementalPCA
    >>> rows = np.random.default_rng(0).normal(size=(500, 5)) @ np.diag([9, 1, 1, 1, 1])
    >>> np.abs(IncrementalPCA(n_components=1).fit(rows).components_.round(0))
    array([[9., 0., 0., 0., 0.]])
    """

    constraints: ClassVar[Constraints] = {
        **FactorEstimator.constraints,
        "block_size": [whole(1)],
    }

    def __init__(self, n_components: int = 1, *, block_size: int = 100) -> None:
        self.n_components = n_components
        self.block_size = block_size

    def _start(self, D: int) -> Blocks:
        size = max(self.block_size, self.n_components)
        return Blocks(_Components(D, self.n_components), size, size)


class _Components:
    def __init__(self, D: int, K: int) -> None:
        from sklearn.decomposition import IncrementalPCA

        self.moments = RunningMoments(D)
        self.pca = IncrementalPCA(K)

    def absorb(self, block: Array) -> None:
        first = self.moments.count == 0
        self.moments.absorb(block)
        if first and len(block) < self.pca.n_components:  # for an estimate before it is full
            self.pca.set_params(n_components=len(block))
        with np.errstate(invalid="ignore"):  # scikit-learn divides by the number of rows less one
            self.pca.partial_fit(block)

    def estimate(self) -> LowRankGaussian:
        D, K = len(self.moments.mean), len(self.pca.components_)
        variances = self.pca.singular_values_**2 / self.moments.count
        others = (self.moments.second.sum() - variances.sum()) / (D - K)
        factors = self.pca.components_.T * np.sqrt(np.clip(variances - others, 0, None))
        noise = np.clip(self.moments.second - np.sum(factors**2, axis=1), 0, None)
        return LowRankGaussian(self.moments.mean, factors, noise)
