"""Underdamped Langevin dynamics."""

from __future__ import annotations

from typing import Any

import numpy as np

from onlinefa.gaussian import Array
from onlinefa.walks.base import Walk
from onlinefa.walks.targets import Motion, Target

__all__ = ["Underdamped"]


class Underdamped(Walk):
    """Underdamped Langevin dynamics by the BAOAB integrator (Leimkuhler and Matthews, 2013).

    With full batches, N(m, A^-1) is exactly stationary for a Gaussian target, for any stable step;
    for other targets the error is of second order in the step. The noise of smaller batches is not
    corrected for and widens the law. P is the inverse of the mass matrix.

    Parameters
    ----------
    target : Target
        The energy.
    start : ndarray of shape (D,)
        Initial weights.
    friction : float, default=1.0
        Rate at which the velocity decays.
    **options
        `step` and the other parameters of `Walk`.
    """

    def __init__(
        self, target: Target, start: Array, *, friction: float = 1.0, **options: Any
    ) -> None:
        super().__init__(target, start, **options)
        if not 0 < friction < np.inf:
            raise ValueError(f"friction must be positive and finite, got {friction}")
        self.friction = float(friction)
        self.velocity = self.preconditioner.apply_root(
            self.random.standard_normal(target.dimension)
        )
        self._force = self.preconditioner.apply(self._first_gradients[0])

    def _advance(self, number: int) -> tuple[Array, Array]:
        damping = float(np.exp(-self.friction * self.step))
        motion = Motion(self.theta.copy(), self.velocity.copy(), self._force.copy())
        z = self.random.standard_normal((number, self.target.dimension))
        states, gradients = self.target.walk_underdamped(
            motion,
            self.sampler.draw(number),
            self.preconditioner,
            self.step,
            damping,
            np.sqrt(1 - damping**2) * self.preconditioner.apply_root(z),
        )
        self.theta, self.velocity, self._force = motion.theta, motion.velocity, motion.force
        return states, gradients

    def _stable_mean_square(self) -> float:
        """Return a bound for the mean squared length of whitened gradients of a stable walk.

        A stable step is below two over the square root of the largest curvature, so that the mean
        square of each whitened gradient is below four over the square of the step.
        """
        return 4 * self.target.dimension / self.step**2

    def _position(self) -> Any:
        return self.theta, self.velocity, self._force

    def _return_to(self, position: Any) -> None:
        self.theta, self.velocity, self._force = position
