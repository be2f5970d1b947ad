"""Gaussians of weights around modes, with predictions of networks that are linearised there."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import Any, ClassVar, Protocol

import numpy as np
from sklearn.utils._param_validation import Interval

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.posteriors.base import (
    Functions,
    GaussianFunctions,
    MixedFunctions,
    Posterior,
    SampledFunctions,
    Task,
)

RUNS: dict[str, list[Any]] = {"runs": [Interval(Integral, 1, None, closed="left")]}


class Spread(Protocol):
    """A Gaussian of deviations of weights from a mode."""

    def variances_along(self, directions: Array, /) -> Array:
        """Return the variance of a linear function of the deviations, for each direction."""

    def sample(self, n: int, random_state: np.random.Generator, /) -> Array:
        """Draw deviations, of shape (n, weights)."""


class LinearisedPosterior(Posterior):
    """A Gaussian around each of several modes.

    Predictions are those of the network linearised at a mode, f + j'(theta - mode) with derivatives
    j. They are exact for a single Gaussian and one output. Functions of several classes are drawn,
    because probabilities of classes have no closed form.

    Attributes
    ----------
    runs : int
        Number of modes, each from a start of its own.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    runs: int = 1

    @abstractmethod
    def spread(self, task: Task, mode: Array, random: np.random.Generator) -> Spread:
        """Return the Gaussian of the deviations from a mode."""

    def first_weight(self, task: Task) -> int:
        """Return the index of the first weight that is not fixed at the mode."""
        return 0

    def timed(self, task: Task) -> tuple[Functions, float]:
        """Compute the posterior over functions and measure the time, without that of the modes."""
        task.modes(self.runs)
        return super().timed(task)

    def functions(self, task: Task) -> Functions:
        """Return Gaussian functions or a mixture of them; for classes, functions are drawn."""
        network, first = task.network, self.first_weight(task)
        modes = task.modes(self.runs)
        means = network.functions(modes, task.inputs)
        random = task.random("sampling")
        numbers = [len(part) for part in np.array_split(np.arange(task.samples), self.runs)]
        sds, drawn = [], []
        for mode, mean, number in zip(modes, means, numbers, strict=True):
            J = network.jacobian(mode, task.inputs, first)
            spread = self.spread(task, mode, random)
            if network.likelihood.outputs == 1:
                sds.append(np.sqrt(spread.variances_along(J)))
            else:
                moves = np.einsum("ncd,sd->snc", J, spread.sample(number, random), optimize=True)
                drawn.append(mean + moves)
        if drawn:
            return SampledFunctions(np.concatenate(drawn))
        if self.runs == 1:
            return GaussianFunctions(means[0], sds[0])
        return MixedFunctions(means, np.array(sds))
