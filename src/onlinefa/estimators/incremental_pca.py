"""Incremental principal components with a diagonal remainder."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.decomposition import IncrementalPCA as _PrincipalComponents

from onlinefa.estimators._block_em import BlockState
from onlinefa.estimators._constraints import Constraints, allow_integers
from onlinefa.estimators._moments import RunningMoments
from onlinefa.estimators.base import FactorEstimator
from onlinefa.gaussian import Array


class IncrementalPCA(FactorEstimator):
    """Incremental PCA of scikit-learn, with a diagonal remainder as noise.

    The factors are the K leading principal components; as in probabilistic PCA, the mean variance
    of the other components is subtracted from theirs. The noise is the remainder of the variance
    of each column. Principal components maximise variance and not likelihood: a column in larger
    units has more influence.

    Parameters
    ----------
    n_components : int, default=1
        Number of factors K, smaller than the number of columns.
    block_size : int, default=100
        Number of rows that are absorbed at once, or K if that is larger. Rows are stored until a
        block is full.

    Examples
    --------
    >>> import numpy as np
    >>> from onlinefa import IncrementalPCA
    >>> rows = np.random.default_rng(0).normal(size=(500, 5)) @ np.diag([9, 1, 1, 1, 1])
    >>> np.abs(IncrementalPCA(n_components=1).fit(rows).components_.round(0))
    array([[9., 0., 0., 0., 0.]])
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": allow_integers(1),
        "block_size": allow_integers(1),
    }

    def __init__(self, n_components: int = 1, *, block_size: int = 100) -> None:
        self.n_components = n_components
        self.block_size = block_size

    def _start(self, D: int) -> BlockState:
        size = max(self.block_size, self.n_components)
        return BlockState(_Components(D, self.n_components), size, size)


class _Components:
    def __init__(self, D: int, K: int) -> None:
        self.moments = RunningMoments(D)
        self.pca = _PrincipalComponents(K)

    def absorb(self, block: Array) -> None:
        first = self.moments.count == 0
        self.moments.absorb(block)
        if first and len(block) < self.pca.n_components:  # an estimate before the block is full
            self.pca.set_params(n_components=len(block))
        with np.errstate(invalid="ignore"):  # scikit-learn divides by the number of rows minus one
            self.pca.partial_fit(block)

    def parameters(self) -> tuple[Array, Array, Array]:
        D, K = len(self.moments.mean), len(self.pca.components_)
        variances = self.pca.singular_values_**2 / self.moments.count
        others = (self.moments.second.sum() - variances.sum()) / (D - K)
        factors = self.pca.components_.T * np.sqrt(np.clip(variances - others, 0, None))
        noise = np.clip(self.moments.second - np.sum(factors**2, axis=1), 0, None)
        return self.moments.mean, factors, noise
