"""Base class of walks, which move weights along stochastic gradients and detect divergence.

A walk produces the weights that an online estimator is fitted to. Its steps follow gradients of an
energy (a `Target`) that are estimated from batches of rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from onlinefa.gaussian import Array, LowRankGaussian
from onlinefa.walks.batches import Sampling, make_sampler
from onlinefa.walks.errors import WalkDiverged
from onlinefa.walks.preconditioner import Preconditioner
from onlinefa.walks.targets import Target

__all__ = ["Walk"]

_CHUNK = 256  # number of steps between two checks of stability
_FIRST_GRADIENTS = 8
# A walk is unstable if the mean square of its whitened gradients over a chunk is more than this
# many times the larger of two numbers: the mean square at its start, and the bound for a stable
# walk with its step.
_UNSTABLE = 100.0
_MOST_HALVINGS = 60


class Walk(ABC):
    """Base class of walks.

    If the gradients of a walk become much larger than those of a stable walk, the walk returns to
    weights that it visited before, and continues with half the step size.

    Parameters
    ----------
    target : Target
        The energy.
    start : ndarray of shape (D,)
        Initial weights; they are copied.
    step : float
        Step size.
    preconditioner : Preconditioner or None, default=None
        The matrix P by which gradients are multiplied; None for the identity.
    batch_size : int, default=32
        Number of rows of a batch.
    sampling : {"replacement", "reshuffled", "full"}, default="replacement"
        How batches are drawn. The stationary laws that subclasses state hold for independent
        batches. The errors of reshuffled batches cancel in part over an epoch.
    random_state : int, numpy.random.Generator or None, default=None
        Source of batches and of noise.

    Attributes
    ----------
    theta : ndarray of shape (D,)
        Current weights.
    steps : int
        Number of steps so far.
    gradients_spent : int
        Number of gradients of batches so far, including those of steps that were taken back. A
        gradient of the whole table counts as ``n_rows / batch_size``, rounded up.
    halvings : int
        Number of times that the step size was halved.
    """

    def __init__(
        self,
        target: Target,
        start: Array,
        *,
        step: float,
        preconditioner: Preconditioner | None = None,
        batch_size: int = 32,
        sampling: Sampling = "replacement",
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        if np.shape(start) != (target.dimension,):
            raise ValueError(f"start must have the shape ({target.dimension},)")
        if not (np.isfinite(start).all() and 0 < step < np.inf):
            raise ValueError("start must be finite, and step positive and finite")
        self.target = target
        self.theta = np.array(start, dtype=np.float64)
        self.step = float(step)
        self.preconditioner = preconditioner or Preconditioner.diagonal(np.ones(target.dimension))
        self.random = np.random.default_rng(random_state)
        self.sampler = make_sampler(sampling, target.n_rows, batch_size, self.random)
        self.steps = 0
        self.gradients_spent = 0
        self.halvings = 0
        self._batches_per_draw = -(-target.n_rows // batch_size) if sampling == "full" else 1
        self._first_gradients = self.draw_gradients(1 if sampling == "full" else _FIRST_GRADIENTS)
        self._safe: Any = None  # the last position with a known gradient
        self.forget_gradients()

    # -- steps ---------------------------------------------------------------------------------

    def observe(self, steps: int) -> Array:
        """Continue the walk.

        Parameters
        ----------
        steps : int
            Number of steps.

        Returns
        -------
        rows : ndarray of shape (steps, D)
            Weights after each step.

        Raises
        ------
        WalkDiverged
            If no step size makes the walk stable.
        """
        chunks = [states for states, _ in self._iterate(steps)]
        return np.concatenate(chunks) if chunks else np.empty((0, self.target.dimension))

    def _iterate(self, steps: int) -> Iterator[tuple[Array, Array]]:
        """Yield states and gradients of the next steps, chunk by chunk."""
        for start in range(0, steps, _CHUNK):
            yield self._take_chunk(min(_CHUNK, steps - start))

    def _take_chunk(self, number: int) -> tuple[Array, Array]:
        while True:
            before = self._position()
            if self._safe is None:
                self._safe = before
            # The check of stability detects overflow.
            with np.errstate(over="ignore", invalid="ignore"):
                states, gradients = self._advance(number)
                is_stable = self._is_stable(states, gradients)
            self._count(number)
            if is_stable:
                # The last state of this chunk has no gradient yet, but its first state has.
                self._safe = before
                self.steps += number
                self._gradient_sum += gradients.sum(axis=0)
                self._gradient_count += number
                return states, gradients
            if self.halvings == _MOST_HALVINGS:
                raise WalkDiverged(f"the walk diverges with a step of {self.step:.3g}")
            self._return_to(self._safe)
            self.halvings += 1
            self.step /= 2

    @property
    def gradients_per_step(self) -> int:
        """The number of gradients of batches that a step costs."""
        return self._batches_per_draw * self.target.gradients_per_step

    def _count(self, steps: int) -> None:
        self.gradients_spent += steps * self.gradients_per_step

    def draw_gradients(self, number: int) -> Array:
        """Compute the gradients of several batches at the current weights.

        Parameters
        ----------
        number : int
            Number of batches.

        Returns
        -------
        gradients : ndarray of shape (number, D)
            The gradients.
        """
        self._count(number)
        batches = self.sampler.draw(number)
        return np.array([self.target.gradient(self.theta, rows) for rows in batches])

    def _is_stable(self, states: Array, gradients: Array) -> bool:
        if not (np.isfinite(states).all() and np.isfinite(gradients).all()):
            return False
        first = self._mean_square(self._first_gradients)
        return self._mean_square(gradients) <= _UNSTABLE * max(first, self._stable_mean_square())

    def _mean_square(self, gradients: Array) -> float:
        """Return the mean squared length of whitened gradients L'g."""
        return float(np.mean(np.sum(self.preconditioner.apply_root_transposed(gradients) ** 2, -1)))

    def _stable_mean_square(self) -> float:
        """Return a bound for the mean squared length of whitened gradients of a stable walk.

        In a stationary law, a step of size h reduces the variance of each whitened weight by 2h, so
        that it cannot add more: h^2 times the mean square of each whitened gradient is at most 2h.
        """
        return 2 * self.target.dimension / self.step

    @abstractmethod
    def _advance(self, number: int) -> tuple[Array, Array]:
        """Take steps; return states and gradients."""

    def _position(self) -> Any:
        """Return what `_return_to` needs to undo steps; `_advance` replaces these arrays."""
        return self.theta

    def _return_to(self, position: Any) -> None:
        self.theta = position

    # -- the mean gradient ---------------------------------------------------------------------

    def forget_gradients(self) -> None:
        """Restart the mean gradient, for an estimate from the weights visited from now on."""
        self._gradient_sum = np.zeros(self.target.dimension)
        self._gradient_count = 0

    def correct_mean(self, gaussian: LowRankGaussian) -> LowRankGaussian:
        """Move the mean of an estimate by a Newton step with the mean gradient of the walk.

        The mean of a finite walk differs from the mode. For a Gaussian target and the right
        covariance, the step leads from the mean of the walk to the mode, except for the noise of
        batches. It needs no further gradients.

        Parameters
        ----------
        gaussian : LowRankGaussian
            Estimate from the weights visited since `forget_gradients`, or since the start.

        Returns
        -------
        gaussian : LowRankGaussian
            The estimate with a corrected mean.
        """
        gradient = self._gradient_sum / max(self._gradient_count, 1)
        F, psi = gaussian.factors, gaussian.noise
        return LowRankGaussian(gaussian.mean - F @ (F.T @ gradient) - psi * gradient, F, psi)
