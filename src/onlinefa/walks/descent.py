"""Gradient descent to the mode, from which walks start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onlinefa.gaussian import Array
from onlinefa.walks.curvature import estimate_curvature
from onlinefa.walks.langevin import SGD
from onlinefa.walks.targets import Target

__all__ = ["Descent", "descend"]

_CURVATURE_BATCHES = 3
_NOISE_BATCHES = 32
LEAST_GRADIENTS = 100


@dataclass(frozen=True, eq=False)
class Descent:
    """Result of a gradient descent: its weights, and the curvature and gradients at them.

    Parameters
    ----------
    theta : ndarray of shape (D,)
        Mean of the weights over the second half of the descent.
    curvature : float
        Largest eigenvalue of the Hessians of a few batches.
    noise : ndarray of shape (n, D)
        Gradients of n batches at these weights, minus their mean.
    gradients_spent : int
        Number of gradients of batches that were computed.
    halvings : int
        Number of times that the step size was halved.
    """

    theta: Array
    curvature: float
    noise: Array
    gradients_spent: int
    halvings: int

    @property
    def noise_trace(self) -> float:
        """Trace of the covariance of gradients of batches."""
        return float(np.sum(self.noise**2)) / (len(self.noise) - 1)

    @property
    def largest_noise(self) -> float:
        """Largest eigenvalue of the covariance of gradients of batches."""
        return float(np.linalg.norm(self.noise, 2)) ** 2 / (len(self.noise) - 1)


def descend(
    target: Target,
    start: Array,
    gradients: int,
    *,
    batch_size: int,
    random: np.random.Generator,
) -> Descent:
    """Run stochastic gradient descent with a step of one over the largest curvature.

    Parameters
    ----------
    target : Target
        The energy.
    start : ndarray of shape (D,)
        Initial weights.
    gradients : int
        Number of gradients of batches to spend, at least 100.
    batch_size : int
        Number of rows of a batch, drawn with replacement.
    random : numpy.random.Generator
        Source of batches.
    """
    if gradients < LEAST_GRADIENTS:
        raise ValueError(f"a descent needs at least {LEAST_GRADIENTS} gradients, got {gradients}")
    walk = SGD(target, start, step=1.0, batch_size=batch_size, random_state=random)
    curvature, spent = estimate_curvature(
        target, start, walk.sampler.draw(_CURVATURE_BATCHES), random
    )
    walk.gradients_spent += spent
    walk.step = 1 / max(curvature, np.finfo(np.float64).tiny)
    left = gradients - walk.gradients_spent - _NOISE_BATCHES
    walk.observe(left // 2)
    walk.theta = walk.observe(left - left // 2).mean(axis=0)
    noise = walk.draw_gradients(_NOISE_BATCHES)
    return Descent(
        walk.theta,
        1 / walk.step,  # larger than before if the step had to be halved
        noise - noise.mean(axis=0),
        walk.gradients_spent,
        walk.halvings,
    )
