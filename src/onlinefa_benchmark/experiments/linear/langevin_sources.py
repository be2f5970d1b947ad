"""Langevin walks over a linear regression, in windows that double."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from onlinefa.gaussian import LowRankGaussian
from onlinefa.walks import (
    AdaptiveLangevin,
    CyclicalLangevin,
    Descent,
    LeastSquares,
    Underdamped,
    Walk,
    descend,
)
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.models.langevin_law import langevin_law
from onlinefa_benchmark.models.linear_regression import LinearRegression
from onlinefa_benchmark.models.sgd_walk import NoStationaryLaw
from onlinefa_benchmark.models.walk_names import WalkName

_ADAPTIVE: dict[str, dict[str, Any]] = {
    "constant_sgd": {"preconditioner_kind": "none", "noise": "none"},
    "sgld": {"preconditioner_kind": "none", "noise": "added"},
    "sgld_control_variate": {
        "preconditioner_kind": "none",
        "noise": "added",
        "control_variate": True,
    },
    "sgld_diagonal": {"preconditioner_kind": "diagonal", "noise": "added"},
    "langevin_fa": {},
}
_BLOCK = 256  # number of steps that are observed at once
# In units of the highest frequency, which the largest curvature of batches bounds. The integrator
# is stable up to a step of 2, and the velocity decays by a factor of e in 20 steps.
_UNDERDAMPED_STEP = 0.5
_UNDERDAMPED_FRICTION = 0.1


class Source(ABC):
    """A walk in windows, each as long as everything before it."""

    @property
    @abstractmethod
    def halvings(self) -> int:
        """How often the step was halved because the walk was unstable."""

    @abstractmethod
    def next_window(self) -> Iterator[Array]:
        """Yield the weights of the next window, block by block."""

    @abstractmethod
    def correct_mean(self, estimate: LowRankGaussian) -> LowRankGaussian:
        """Return an estimate with a corrected mean."""

    @abstractmethod
    def law(self) -> LowRankGaussian | str:
        """Return the stationary law of the last window, or why there is none."""


class _AdaptiveSource(Source):
    """A walk that adapts to what it has learned."""

    def __init__(self, regression: LinearRegression, walk: AdaptiveLangevin) -> None:
        self._regression = regression
        self._walk = walk

    @property
    def halvings(self) -> int:
        return self._walk.halvings

    def next_window(self) -> Iterator[Array]:
        return self._walk.next_window()

    def correct_mean(self, estimate: LowRankGaussian) -> LowRankGaussian:
        return self._walk.correct_mean(estimate)

    def law(self) -> LowRankGaussian | str:
        walk = self._walk
        root = walk.color(np.eye(self._regression.D))
        try:
            return langevin_law(
                self._regression,
                walk.sampler.batch_size,
                walk.preconditioner,
                walk.step,
                root.T @ root,
                walk.anchor,
            )
        except NoStationaryLaw as reason:
            return str(reason)


class _FixedSource(Source):
    """Gradient descent to the mode, and then a walk with fixed parameters."""

    def __init__(self, walk: Walk, descent: Descent, warm_up: int) -> None:
        self._walk = walk
        self._before = descent
        self._warm_up = warm_up
        self._windows = 0

    @property
    def halvings(self) -> int:
        return self._before.halvings + self._walk.halvings

    def next_window(self) -> Iterator[Array]:
        self._windows += 1
        self._walk.forget_gradients()
        spent = self._before.gradients_spent + self._walk.gradients_spent
        steps = (self._warm_up * 2**self._windows - spent) // self._walk.gradients_per_step
        for _ in range(0, steps, _BLOCK):
            rows = self._walk.observe(min(_BLOCK, steps))
            steps -= _BLOCK
            if len(rows):  # a part of a cycle may have nothing to observe
                yield rows

    def correct_mean(self, estimate: LowRankGaussian) -> LowRankGaussian:
        return self._walk.correct_mean(estimate)


class _UnderdampedSource(_FixedSource):
    """Underdamped dynamics with full batches, whose stationary law is the posterior."""

    def __init__(self, posterior: LowRankGaussian, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._posterior = posterior

    def law(self) -> LowRankGaussian | str:
        return self._posterior


class _CyclicalSource(_FixedSource):
    """SGLD with cyclical steps, of which the largest is that of the descent."""

    def law(self) -> LowRankGaussian | str:
        return "a walk with cyclical steps has no stationary law"


def make_source(
    name: WalkName,
    regression: LinearRegression,
    start: Array,
    *,
    warm_up: int,
    batch: int,
    K: int,
    random: np.random.Generator,
) -> Source:
    """Create a walk by its name.

    Parameters
    ----------
    name : WalkName
        One of `LANGEVIN_WALKS`.
    regression : LinearRegression
        The regression.
    start : array of shape (D,)
        Initial weights.
    warm_up : int
        Number of gradients of the descent, and of the first window.
    batch : int
        Number of rows in a batch.
    K : int
        Number of factors of the walk's own factor analyses.
    random : numpy.random.Generator
        Source of batches and noise.
    """
    target = LeastSquares(regression.X, regression.y, regression.beta, regression.alpha)
    options: dict[str, Any] = {"batch_size": batch, "random_state": random}
    if name in _ADAPTIVE:
        walk = AdaptiveLangevin(
            target, start, warm_up=warm_up, n_components=K, **_ADAPTIVE[name], **options
        )
        return _AdaptiveSource(regression, walk)
    descent = descend(target, start, warm_up, batch_size=batch, random=random)
    if name == "sgld_cyclical":
        step = 1 / descent.curvature
        cyclical = CyclicalLangevin(target, descent.theta, cycle=warm_up, step=step, **options)
        return _CyclicalSource(cyclical, descent, warm_up)
    frequency = np.sqrt(descent.curvature)
    underdamped = Underdamped(
        target,
        descent.theta,
        step=_UNDERDAMPED_STEP / frequency,
        friction=_UNDERDAMPED_FRICTION * frequency,
        sampling="full",
        **options,
    )
    return _UnderdampedSource(regression.posterior, underdamped, descent, warm_up)
