"""Recursive EM for factor analysis as in L-RVGA (Lambert, Bonnabel and Bach, 2023)."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from onlinefa.estimators._block_em import BlockState
from onlinefa.estimators._constraints import INITIALIZATION, Constraints, allow_integers
from onlinefa.estimators._initial_factors import make_initial_factors
from onlinefa.estimators._moments import compute_mean
from onlinefa.estimators.base import FactorEstimator
from onlinefa.gaussian import Array

# psi is a difference from the variances of S. Below this share of them it is a rounding error, and
# may be zero or negative.
_SMALLEST_SHARE = np.finfo(np.float64).eps


class LRVGA(FactorEstimator):
    """Recursive EM of Lambert, Bonnabel and Bach, which processes every row once in O(D K) memory.

    The t-th row x has the weight g = 1 / t. With the factors F and the noise psi before the row, a
    few steps of EM fit the model to S = g x x' + (1 - g) (F F' + diag(psi)), which is never formed.

    Three details differ from the authors' code. First, their code assumes a mean of zero; here,
    rows are centred with the running mean: x x' is the product of the deviations from the mean
    before and after the row (Welford, 1962). Second, the first row therefore determines the mean
    only, and the initial model, F F' + I, has the weight of one row; in their code it has no
    weight, so that the first S is singular. Third, the noise is at least the rounding error of the
    variances of S, because EM divides by it; their code has no lower limit.

    The initial model has variances of about 1: data in other units should be rescaled.

    `RecursiveEM` has the same recursion and adds blocks of 100 rows, parameter expansion, a start
    from the variances of the data, a lower limit of the noise that decreases with the number of
    rows, more steps for the first blocks, forgetting, and selection of K.

    Parameters
    ----------
    n_components : int, default=1
        Number of factors K, smaller than the number of columns.
    block_size : int, default=1
        Number of rows that are absorbed at once. Rows are stored until a block is full.
    inner_steps : int, default=10
        Number of steps of EM for each block.
    init_factors : array-like of shape (D, K) or None, default=None
        Initial factors. None draws random orthonormal ones.
    random_state : int, RandomState instance or None, default=None
        Seed of the random initial factors.

    References
    ----------
    Lambert, Bonnabel and Bach (2023). The limited-memory recursive variational Gaussian
    approximation (L-RVGA). arXiv:2303.14195.

    Examples
    --------
    >>> import numpy as np
    >>> from onlinefa import LRVGA
    >>> rows = np.random.default_rng(0).normal(size=(500, 5)) @ np.diag([3, 1, 1, 1, 1])
    >>> LRVGA(n_components=1, random_state=0).fit(rows).components_.shape
    (1, 5)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": allow_integers(1),
        "block_size": allow_integers(1),
        "inner_steps": allow_integers(1),
        **INITIALIZATION,
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        block_size: int = 1,
        inner_steps: int = 10,
        init_factors: Array | None = None,
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.block_size = block_size
        self.inner_steps = inner_steps
        self.init_factors = init_factors
        self.random_state = random_state

    def _start(self, D: int) -> BlockState:
        factors = make_initial_factors(
            D, self.n_components, self.init_factors, self.random_state, self._kind
        )
        return BlockState(_Model(factors, self.inner_steps), 1, self.block_size)


class _Model:
    """Factor analysis model of the rows absorbed so far; the first block is a single row."""

    def __init__(self, factors: Array, inner_steps: int) -> None:
        self.rows = 0
        self.inner_steps = inner_steps
        self.mean = np.zeros(len(factors))
        self.F = factors
        self.psi = np.ones(len(factors))

    def absorb(self, block: Array) -> None:
        b, old = len(block), self.rows
        self.rows = total = old + b
        centre = compute_mean(block)
        shift = centre - self.mean
        self.mean = self.mean + shift * (b / total)
        if old > 0:
            between = math.sqrt(old * b / total) * shift
            Y = np.vstack([block - centre, between]) / math.sqrt(total)
            self._maximise(Y, old / total)

    def _maximise(self, Y: Array, share: float) -> None:
        """Take steps of EM towards the covariance S = Y'Y + share (F0 F0' + psi0)."""
        F0, psi0, F, psi = self.F, self.psi, self.F, self.psi
        eye = np.eye(F.shape[1])
        diagonal = np.sum(Y**2, axis=0) + share * (np.sum(F0**2, axis=1) + psi0)
        for _ in range(self.inner_steps):
            W = F / psi[:, None]
            M = np.linalg.inv(eye + F.T @ W)
            SW = Y.T @ (Y @ W) + share * (F0 @ (F0.T @ W) + psi0[:, None] * W)
            factors = np.linalg.solve((eye + M @ (W.T @ SW)).T, SW.T).T
            F = factors.astype(np.float64, copy=False)
            psi = diagonal - np.sum((F @ M) * SW, axis=1)
            psi = np.maximum(psi, _SMALLEST_SHARE * diagonal)
        self.F, self.psi = F, psi

    def parameters(self) -> tuple[Array, Array, Array]:
        return self.mean, self.F, self.psi
