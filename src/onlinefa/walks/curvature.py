"""The largest curvature of an energy, which limits the step of a walk."""

from __future__ import annotations

import numpy as np

from onlinefa.gaussian import Array
from onlinefa.walks.batches import Batches
from onlinefa.walks.targets import Target

__all__ = ["estimate_curvature"]

_POWER_STEPS = 10
_DIFFERENCE = 1e-4  # relative length of the differences from which products are computed


def estimate_curvature(
    target: Target, theta: Array, batches: Batches, random: np.random.Generator
) -> tuple[float, int]:
    """Estimate the largest eigenvalue of the Hessian of each batch, and return the largest.

    Gradient descent on a batch is stable if its step is below two over the largest eigenvalue of
    the Hessian of the batch. Products with the Hessian are computed as differences of gradients of
    the same batch.

    Parameters
    ----------
    target : Target
        The energy.
    theta : ndarray of shape (D,)
        Weights.
    batches : Batches
        Batches of rows.
    random : numpy.random.Generator
        Source of the first direction.

    Returns
    -------
    curvature : float
        The largest eigenvalue.
    gradients : int
        Number of gradients that were computed.
    """
    largest, gradients = 0.0, 0
    length = _DIFFERENCE * (1 + float(np.linalg.norm(theta)))
    for rows in batches:
        here = target.gradient(theta, rows)
        direction = random.standard_normal(target.dimension)
        for _ in range(_POWER_STEPS):
            direction *= length / max(float(np.linalg.norm(direction)), np.finfo(np.float64).tiny)
            direction = target.gradient(theta + direction, rows) - here
        gradients += 1 + _POWER_STEPS
        largest = max(largest, float(np.linalg.norm(direction)) / length)
    return largest, gradients
