"""Overdamped walks with a fixed preconditioner: SGD and Langevin dynamics."""

from __future__ import annotations

from typing import Any

import numpy as np

from onlinefa.gaussian import Array
from onlinefa.walks.base import Walk
from onlinefa.walks.gradient_moment import GradientMoment
from onlinefa.walks.targets import Target

__all__ = ["SGD", "Langevin"]


class _OverdampedWalk(Walk):
    """A walk theta <- theta - h P g + noise."""

    def _advance(self, number: int) -> tuple[Array, Array]:
        states, gradients = self.target.walk_overdamped(
            self.theta,
            self.sampler.draw(number),
            self.preconditioner,
            np.full(number, self.step),
            self.color(self.random.standard_normal((number, self.target.dimension))),
        )
        self.theta = states[-1].copy()
        return states, gradients

    def color(self, z: Array) -> Array:
        """Return the noise of steps, given standard normal vectors of shape (steps, D)."""
        return np.zeros_like(z)


class SGD(_OverdampedWalk):
    """Stochastic gradient descent with a constant step: theta <- theta - h P g.

    On a Gaussian target with precision A and gradients whose noise has covariance C, the covariance
    S of the stationary law solves S = (I - hPA) S (I - hPA)' + h^2 P C P. The parameters are those
    of `Walk`.

    Examples
    --------
    >>> import numpy as np
    >>> from onlinefa.walks import SGD, LeastSquares
    >>> target = LeastSquares(np.eye(2), np.ones(2), noise_precision=1, prior_precision=1)
    >>> walk = SGD(target, np.zeros(2), step=0.5, batch_size=1, sampling="full")
    >>> walk.observe(3)  # the curvature is 2, so that the first step leads to the minimum
    array([[0.5, 0.5],
           [0.5, 0.5],
           [0.5, 0.5]])
    """


class Langevin(_OverdampedWalk):
    """Langevin dynamics with stochastic gradients: theta <- theta - h P g + L z, with P = LL'.

    Without `moment`, z ~ N(0, 2h I): stochastic gradient Langevin dynamics (Welling and Teh, 2011).
    On a Gaussian target with precision A and gradients whose noise has covariance C, the covariance
    S of its stationary law solves S = (I - hPA) S (I - hPA)' + h^2 P C P + 2 h P, which is
    larger than A^-1.

    With `moment`, z ~ N(0, 2h I - h^2 W), where W = E[(L'g)(L'g)'] is the second moment of whitened
    gradients in the stationary law. If W is exact, N(m, A^-1) itself is stationary, for any step
    that leaves the covariance of z positive: the noise of batches replaces a part of the noise that
    is added. SGFS (Ahn et al., 2012) uses a similar correction.

    Parameters
    ----------
    target : Target
        The energy.
    start : ndarray of shape (D,)
        Initial weights.
    moment : GradientMoment or None, default=None
        Second moment of whitened gradients; None leaves their noise uncorrected.
    **options
        `step` and the other parameters of `Walk`.
    """

    def __init__(
        self, target: Target, start: Array, *, moment: GradientMoment | None = None, **options: Any
    ) -> None:
        super().__init__(target, start, **options)
        self.moment = moment

    def color(self, z: Array) -> Array:
        """Return the noise of steps, given standard normal vectors of shape (steps, D)."""
        P = self.preconditioner
        if self.moment is None:
            return P.apply_root(np.sqrt(2 * self.step) * z)
        outside = np.sqrt(_variance_left(self.step, self.moment.outside))
        eigenvalues, E = np.linalg.eigh(self.moment.inside)
        inside = (E * np.sqrt(_variance_left(self.step, eigenvalues))) @ E.T
        along = z @ P.directions
        return P.apply_root(outside * z + (along @ inside - outside * along) @ P.directions.T)


def _variance_left(step: float, moment: Any) -> Any:
    """Return 2 h - h^2 w, the variance of the noise to add for gradients of second moment w."""
    return np.clip(2 * step - step**2 * np.asarray(moment), 0, None)
