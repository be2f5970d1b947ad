"""The choice of K while rows arrive: models side by side, judged by what they predict."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence

import numpy as np

from onlinefa.gaussian import Array, LowRankGaussian
from onlinefa.recursion import RecursiveModel, halves


class Ladder:
    """Models with different numbers of factors; the estimate is that of the best predictor.

    Every block is predicted by all models before any of them learns from it, and a model's score is
    the log density that it gave to the rows, summed. What a model did before it had seen enough
    rows for its number of factors says little of what it does now, and so predictions count for
    the root of the number of rows that they were made from. A factor that is not there then costs
    about D in all, because a row costs D / 2 over the rows so far; one that is missed costs in
    proportion to the rows. Of the first block, each half is predicted by what the other tells.
    """

    def __init__(self, models: Sequence[RecursiveModel]) -> None:
        self.models = models
        self.scores = np.zeros(len(models))

    def absorb(self, block: Array) -> None:
        seen = self.models[0].rows
        if seen == 0:
            for half, other in halves(block):
                models = [copy.copy(model) for model in self.models]
                for model in models:
                    model.absorb(half)
                self.scores = self.scores + [_log_density(model, other) for model in models]
        else:
            fading = math.sqrt(seen / (seen + len(block)))
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


def most_components(D: int) -> int:
    """Ledermann's bound: with more factors than that, the covariance does not determine them."""
    return max(1, math.floor((2 * D + 1 - math.sqrt(8 * D + 1)) / 2))
