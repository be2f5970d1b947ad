"""Recursive expectation-maximisation in blocks: online, and as good as maximum likelihood."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from onlinefa.constraints import NOTHING, Constraints, Word, whole
from onlinefa.estimators.base import FactorEstimator
from onlinefa.gaussian import Array
from onlinefa.ladder import Ladder, most_components
from onlinefa.recursion import Blocks, RecursiveModel


class RecursiveEM(FactorEstimator):
    """Maximum likelihood in blocks: what was learned stands in for the rows it was learned from.

    After every block, a few steps of EM fit the model to the average of the block's covariance and
    the model's own, weighted by their numbers of rows. Memory is O(D (K + block)), and units make
    no difference, neither those of the data nor those of each column.

    Parameters
    ----------
    n_components : K, the number of factors, below the number of columns; or "auto" for the number
        that has predicted the rows best, each block before it was learned from. That fits a model
        for every number from 0 to `max_components` side by side
    block_size : rows that are absorbed at once; they are kept until a block is full
    inner_steps : steps of EM for each block; more for the first ones, which have more to tell
    warm_up : rows of the first block, whose variances set the scale
    forgetting : None to remember all rows alike; or the number of rows that memory amounts to, for
        rows whose distribution changes: with every block, older rows count for so much less. Not
        fewer than a block's, and better several times as many
    max_components : the largest K that "auto" considers, unless Ledermann's bound is below it
    init_factors : array of shape (D, K), or None for random orthonormal ones; in units of the
        columns' standard deviations. For "auto", K is the largest that is considered
    random_state : seed of the random initial factors

    Examples
    --------
    >>> import numpy as np
    >>> from onlinefa import RecursiveEM
    >>> random = np.random.default_rng(0)
    >>> rows = random.normal(size=(500, 1)) @ np.ones((1, 5)) + random.normal(size=(500, 5))
    >>> model = RecursiveEM(n_components="auto", random_state=0)
    >>> model.fit(rows[:450]).partial_fit(rows[450:]).components_.shape
    (1, 5)
    """

    single_precision = True

    constraints: ClassVar[Constraints] = {
        **FactorEstimator.constraints,
        "n_components": [*FactorEstimator.constraints["n_components"], Word("auto")],
        "block_size": [whole(1)],
        "inner_steps": [whole(1)],
        "warm_up": [whole(2)],
        "forgetting": [whole(1), NOTHING],
        "max_components": [whole(1)],
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
        init_factors: Array | None = None,
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.block_size = block_size
        self.inner_steps = inner_steps
        self.warm_up = warm_up
        self.forgetting = forgetting
        self.max_components = max_components
        self.init_factors = init_factors
        self.random_state = random_state

    def _start(self, D: int) -> Blocks:
        if self.n_components == "auto":
            most = min(self.max_components, most_components(D), D - 1)
            factors = self._initial_factors(D, most)
            numbers = range(factors.shape[1] + 1)
            learner: Any = Ladder([self._model(factors[:, :K]) for K in numbers])
        else:
            learner = self._model(self._initial_factors(D, self.n_components))
        return Blocks(learner, self.warm_up, self.block_size)

    def _model(self, factors: Array) -> RecursiveModel:
        return RecursiveModel(factors, self.inner_steps, self.forgetting)
