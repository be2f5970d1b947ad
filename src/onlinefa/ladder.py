"""The choice of K while rows arrive: models side by side, judged by what they predict."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onlinefa.gaussian import Array, LowRankGaussian
from onlinefa.recursion import RecursiveModel


class Ladder:
    """Models with different numbers of factors; the estimate is that of the best predictor.

    Every block is predicted by all models before any of them learns from it, and a model's score is
    the log density that it gave to the rows, summed. A factor that is not there costs about D / 2
    times the logarithm of the number of rows in it, which is what Schwarz's criterion would charge;
    one that is missed costs in proportion to the rows. Old predictions fade: what a model did
    before it had seen enough rows for its number of factors says little of what it does now.
    """

    def __init__(self, models: Sequence[RecursiveModel]) -> None:
        self.models = models
        self.scores = np.zeros(len(models))

    def absorb(self, block: Array) -> None:
        seen = self.models[0].rows
        if seen > 0:
            fading = seen / (seen + len(block))
            self.scores = fading * self.scores + [_log_density(m, block) for m in self.models]
        for model in self.models:
            model.absorb(block)

    def estimate(self) -> LowRankGaussian:
        return self.models[int(np.argmax(self.scores))].estimate()


def _log_density(model: RecursiveModel, rows: Array) -> float:
    """Of rows, in the columns that have varied so far: the others have no density."""
    varied = model.psi > 0
    gaussian = LowRankGaussian(model.mean[varied], model.F[varied], model.psi[varied])
    return float(np.sum(gaussian.log_prob(rows[:, varied])))
