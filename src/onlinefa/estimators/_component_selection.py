"""Selection of the number of factors while rows arrive: models compared by their predictions."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence

import numpy as np

from onlinefa.estimators._block_em import RecursiveModel, split_halves
from onlinefa.gaussian import Array, LowRankGaussian


class ComponentSelection:
    """Models with different numbers of factors; the estimate is that of the best predictor.

    All models predict every block before any of them learns from it. The score of a model is the
    sum of the log densities that it gave to the rows. Predictions that a model made from few rows
    say little about its present quality, and so predictions are weighted by the square root of the
    number of rows that they were made from. A superfluous factor then costs about D in total,
    because the cost of each row is D / 2 divided by the number of rows so far; the cost of a
    missing factor is proportional to the number of rows. For the first block, each half is
    predicted from the other.

    Parameters
    ----------
    models : sequence of RecursiveModel
        Models that have not absorbed any rows.

    Attributes
    ----------
    scores : ndarray of shape (len(models),)
        Score of each model.
    """

    def __init__(self, models: Sequence[RecursiveModel]) -> None:
        self.models = models
        self.scores = np.zeros(len(models))

    def absorb(self, block: Array) -> None:
        """Predict the rows of a block, then learn from them."""
        seen = self.models[0].rows
        if seen == 0:
            for half, other in split_halves(block):
                models = [copy.copy(model) for model in self.models]
                for model in models:
                    model.absorb(half)
                self.scores = self.scores + [_log_density(model, other) for model in models]
        else:
            decay = math.sqrt(seen / (seen + len(block)))
            self.scores = decay * self.scores + [_log_density(m, block) for m in self.models]
        for model in self.models:
            model.absorb(block)

    def parameters(self) -> tuple[Array, Array, Array]:
        """Return mean, factors and noise of the model with the highest score."""
        return self.models[int(np.argmax(self.scores))].parameters()


def _log_density(model: RecursiveModel, rows: Array) -> float:
    """Compute the log density of rows over the columns that have varied; the others have none."""
    varied = model.psi > 0
    gaussian = LowRankGaussian(model.mean[varied], model.F[varied], model.psi[varied])
    return float(gaussian.log_prob(rows[:, varied]).sum())


def compute_ledermann_bound(D: int) -> int:
    """Compute Ledermann's bound on the number of factors of a D x D covariance, at least one.

    More factors are not identifiable.
    """
    return max(1, math.floor((2 * D + 1 - math.sqrt(8 * D + 1)) / 2))
