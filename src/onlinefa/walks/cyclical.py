"""Langevin dynamics with cyclical steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from onlinefa.gaussian import Array
from onlinefa.walks.base import Walk
from onlinefa.walks.targets import Target

__all__ = ["CyclicalLangevin"]


class CyclicalLangevin(Walk):
    """Langevin dynamics whose step falls from a large value to zero in every cycle.

    In the first part of a cycle, exploration, the walk takes large steps without noise. In the
    second part, sampling, it takes small steps with the noise of SGLD. `observe` returns the
    weights of the second part only. The method is cyclical SG-MCMC (Zhang et al., 2020). Because
    the steps change, there is no exact stationary law; the observed weights follow the target up to
    errors of the order of the steps.

    Parameters
    ----------
    target : Target
        The energy.
    start : ndarray of shape (D,)
        Initial weights.
    cycle : int
        Number of steps of a cycle.
    exploration : float, default=0.8
        Share of a cycle without noise, below one.
    **options
        `step`, the largest step, and the other parameters of `Walk`.
    """

    def __init__(
        self, target: Target, start: Array, *, cycle: int, exploration: float = 0.8, **options: Any
    ) -> None:
        super().__init__(target, start, **options)
        if cycle < 2 or not 0 <= exploration < 1:
            raise ValueError("cycle must be at least 2, and exploration at least 0 and below 1")
        self.cycle = cycle
        self.exploration = exploration

    def observe(self, steps: int) -> Array:
        """Continue the walk.

        Parameters
        ----------
        steps : int
            Number of steps.

        Returns
        -------
        rows : ndarray of shape (n, D)
            Weights after each of the n steps of sampling.
        """
        is_sampling = self._positions(steps) >= self.exploration
        return super().observe(steps)[is_sampling]

    def _positions(self, number: int) -> Array:
        """Return where in its cycle each of the next steps is, from 0 to 1."""
        return (self.steps + np.arange(number)) % self.cycle / self.cycle

    def _advance(self, number: int) -> tuple[Array, Array]:
        positions = self._positions(number)
        steps = self.step / 2 * (np.cos(np.pi * positions) + 1)
        sds = np.where(positions >= self.exploration, np.sqrt(2 * steps), 0.0)
        z = self.random.standard_normal((number, self.target.dimension))
        states, gradients = self.target.walk_overdamped(
            self.theta,
            self.sampler.draw(number),
            self.preconditioner,
            steps,
            sds[:, None] * self.preconditioner.apply_root(z),
        )
        self.theta = states[-1].copy()
        return states, gradients
