"""The Laplace approximation of all weights in O(DK), by an online estimator of the information."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from onlinefa.estimators.base import FactorEstimator
from onlinefa.estimators.incremental_pca import IncrementalPCA
from onlinefa.estimators.recursive_em import RecursiveEM
from onlinefa.estimators.shrunk_em import ShrunkEM
from onlinefa.precision import PrecisionGaussian
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.construction import build_estimator
from onlinefa_benchmark.posteriors._linearised import LinearisedPosterior, Spread
from onlinefa_benchmark.posteriors.base import Task

_ESTIMATORS: dict[str, type[FactorEstimator]] = {
    "incremental_pca": IncrementalPCA,
    "recursive_em": RecursiveEM,
    "shrunk_em": ShrunkEM,
}
_ROWS = 100  # observations whose gradients are computed at once


class LaplaceFA(LinearisedPosterior):
    """The Laplace approximation with a precision that is low rank plus diagonal.

    The Fisher information of the data is the covariance of gradients of the observations at the
    mode, with targets drawn from the model. An online estimator learns it from a stream of such
    gradients, as FF' + diag(psi). The posterior is N(mode, (I + FF' + diag(psi))^-1): no D x D
    matrix and no matrix with a row for each observation is formed.

    Weights are in units of the prior. There, the leading principal components of the gradients are
    the best low-rank update of the prior's precision (Spantini et al., 2015), and the diagonal
    describes what they leave out.

    Parameters
    ----------
    estimator : {"incremental_pca", "recursive_em", "shrunk_em"}
        Estimator of the information. The noise of the EM algorithms has a lower bound, a share of
        the variance of each column. It narrows the posterior where the information is large in some
        directions of a column and small in others, and the more factors there are, the more columns
        are at the bound.
    factors : int or None
        Number of factors; None for the K of the experiment.
    epochs : int
        Number of passes over the table. With one output, a single pass determines the information.
    labels : {"drawn", "observed"}
        Targets of the gradients. Those of observed targets have the empirical Fisher information,
        which differs from the Hessian.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [StrOptions(set(_ESTIMATORS))],
        "factors": [Interval(Integral, 1, None, closed="left"), None],
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "labels": [StrOptions({"drawn", "observed"})],
    }

    def __init__(
        self,
        *,
        estimator: Literal["incremental_pca", "recursive_em", "shrunk_em"] = "incremental_pca",
        factors: int | None = None,
        epochs: int = 1,
        labels: Literal["drawn", "observed"] = "drawn",
    ) -> None:
        self.estimator = estimator
        self.factors = factors
        self.epochs = epochs
        self.labels = labels

    def spread(self, task: Task, mode: Array, random: np.random.Generator) -> Spread:
        """Return the Gaussian of the deviations, whose precision is that of prior and data."""
        K = min(self.factors or task.K, len(mode) - 1)
        model = build_estimator(
            _ESTIMATORS[self.estimator],
            {},
            n_components=K,
            random_state=int(random.integers(2**31)),
        )
        for rows in self._gradients(task, mode, random):
            model.partial_fit(rows)
        gradients = model.gaussian()
        # The information is the second moment around zero: the mean is one more factor.
        factors = np.column_stack([gradients.factors, gradients.mean])
        return PrecisionGaussian(np.zeros(len(mode)), factors, 1 + gradients.noise)

    def _gradients(self, task: Task, mode: Array, random: np.random.Generator) -> Iterator[Array]:
        N = len(task.network.y)
        source = random if self.labels == "drawn" else None
        for _ in range(self.epochs):
            for rows in np.split(random.permutation(N), range(_ROWS, N, _ROWS)):
                yield task.network.information_rows(mode, rows, source)
