"""Recursive expectation-maximisation in blocks: online, and close to maximum likelihood."""

from __future__ import annotations

from typing import ClassVar, Literal

from onlinefa.estimators._block_em import BlockLearner, BlockState, RecursiveModel
from onlinefa.estimators._component_selection import ComponentSelection, compute_ledermann_bound
from onlinefa.estimators._constraints import Constraints, allow_integers, allow_word
from onlinefa.estimators.base import FactorEstimator


class RecursiveEM(FactorEstimator):
    """Recursive EM in blocks of rows, where the model represents all earlier rows.

    After every block, a few steps of EM fit the model to the average of the covariance of the
    block and that of the model, weighted by their numbers of rows. The estimate is close to maximum
    likelihood and does not depend on the units of any column. Memory is O(D (K + block_size)).

    The recursion is that of L-RVGA (Lambert, Bonnabel and Bach, 2023, arXiv:2303.14195); see
    `LRVGA`. Blocks of 100 rows, parameter expansion, the start from principal components, the
    lower limit of the noise, more steps for the first blocks, forgetting and the selection of K
    are additions. There is nothing random: EM starts from the principal components of the first
    block.

    Parameters
    ----------
    n_components : int or "auto", default=1
        Number of factors K, smaller than the number of columns. "auto" selects the number that has
        predicted the rows best, each block before it was learned from. A model is fitted for every
        number from 0 to `max_components`.
    block_size : int, default=100
        Number of rows that are absorbed at once. Rows are stored until a block is full.
    inner_steps : int, default=5
        Number of steps of EM for each block; the first blocks get more, because they carry more
        information.
    warm_up : int, default=100
        Number of rows of the first block, whose variances set the scale, at least two.
    forgetting : int or None, default=None
        Effective sample size for rows whose distribution changes. Older rows are down-weighted so
        that the effective sample size never exceeds `forgetting`, or the size of a block if that
        is larger; several times the size of a block is better. None weights all rows equally.
    max_components : int, default=30
        Largest K that "auto" considers, unless Ledermann's bound is smaller.

    Examples
    --------
    >>> import numpy as np
    >>> from onlinefa import RecursiveEM
    >>> random = np.random.default_rng(0)
    >>> rows = random.normal(size=(500, 1)) @ np.ones((1, 5)) + random.normal(size=(500, 5))
    >>> model = RecursiveEM(n_components="auto")
    >>> model.fit(rows[:450]).partial_fit(rows[450:]).components_.shape
    (1, 5)
    """

    single_precision = True
    accepts_tensors = True

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": [*allow_integers(1), *allow_word("auto")],
        "block_size": allow_integers(1),
        "inner_steps": allow_integers(1),
        "warm_up": allow_integers(2),
        "forgetting": [*allow_integers(1), None],
        "max_components": allow_integers(1),
    }

    def __init__(
        self,
        n_components: int | Literal["auto"] = 1,
        *,
        block_size: int = 100,
        inner_steps: int = 5,
        warm_up: int = 100,
        forgetting: int | None = None,
        max_components: int = 30,
    ) -> None:
        self.n_components = n_components
        self.block_size = block_size
        self.inner_steps = inner_steps
        self.warm_up = warm_up
        self.forgetting = forgetting
        self.max_components = max_components

    def _start(self, D: int) -> BlockState:
        learner: BlockLearner
        if self.n_components == "auto":
            most = min(self.max_components, compute_ledermann_bound(D), D - 1)
            learner = ComponentSelection([self._model(D, K) for K in range(most + 1)])
        else:
            learner = self._model(D, self.n_components)
        return BlockState(learner, self.warm_up, self.block_size)

    def _model(self, D: int, K: int) -> RecursiveModel:
        return RecursiveModel(self._kind.zeros(D, K), self.inner_steps, self.forgetting)
