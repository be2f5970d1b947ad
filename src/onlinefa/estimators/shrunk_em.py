"""Recursive EM with factors shrunk to the variance that later rows confirm."""

from __future__ import annotations

from typing import ClassVar

from onlinefa.estimators._block_em import BlockState, RecursiveModel
from onlinefa.estimators._constraints import Constraints, allow_integers
from onlinefa.estimators._shrunk_model import ShrunkModel
from onlinefa.estimators.base import FactorEstimator


class ShrunkEM(FactorEstimator):
    """Recursive EM with each factor shrunk to the variance that later rows confirm.

    A factor that was learned from few rows also explains their noise, and its variance is larger
    than that of later rows along it. Before the model learns from a block, the variance of the
    block along each factor is compared with the variance that the model predicts. In the estimate,
    the factors are shrunk by the ratio, and the variance that they lose is added to the noise, so
    that the variances of the columns do not change. With few rows the result is close to
    `Diagonal`, with many to `RecursiveEM`. The first block has no earlier model: each of its halves
    is compared with the model of the other.

    Parameters
    ----------
    n_components : int, default=1
        Number of factors K, smaller than the number of columns.
    block_size : int, default=100
        Number of rows that are absorbed at once. Rows are stored until a block is full.
    inner_steps : int, default=5
        Number of steps of EM for each block; the first blocks get more, because they carry more
        information.
    warm_up : int, default=100
        Number of rows of the first block, whose variances set the scale, at least two.
    forgetting : int or None, default=None
        Effective sample size for rows whose distribution changes, as in `RecursiveEM`. None
        weights all rows equally.

    Examples
    --------
    >>> import numpy as np
    >>> from onlinefa import ShrunkEM
    >>> rows = np.random.default_rng(0).normal(size=(100, 50))  # there is no factor
    >>> bool(np.abs(ShrunkEM(n_components=2).fit(rows).components_).max() < 0.3)
    True
    """

    single_precision = True
    accepts_tensors = True

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": allow_integers(1),
        "block_size": allow_integers(1),
        "inner_steps": allow_integers(1),
        "warm_up": allow_integers(2),
        "forgetting": [*allow_integers(1), None],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        block_size: int = 100,
        inner_steps: int = 5,
        warm_up: int = 100,
        forgetting: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.block_size = block_size
        self.inner_steps = inner_steps
        self.warm_up = warm_up
        self.forgetting = forgetting

    def _start(self, D: int) -> BlockState:
        empty = self._kind.zeros(D, self.n_components)
        model = RecursiveModel(empty, self.inner_steps, self.forgetting)
        return BlockState(ShrunkModel(model), self.warm_up, self.block_size)
