"""Second moment of whitened gradients, which determines how much noise a Langevin step adds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onlinefa.gaussian import Array, LowRankGaussian
from onlinefa.walks.preconditioner import Preconditioner

__all__ = ["GradientMoment"]

_POWER_STEPS = 50


@dataclass(frozen=True, eq=False)
class GradientMoment:
    """The matrix W = E[(L'g)(L'g)'] of gradients g, for a preconditioner P = LL'.

    W is a K x K matrix along the K directions V of the preconditioner, and a multiple of the
    identity outside of them.

    Parameters
    ----------
    inside : ndarray of shape (K, K)
        V'WV.
    outside : float
        Mean of the eigenvalues outside of the directions.
    largest : float
        Largest eigenvalue.
    """

    inside: Array
    outside: float
    largest: float

    @classmethod
    def of_gaussian(cls, P: Preconditioner, gradients: LowRankGaussian) -> GradientMoment:
        """Compute the moment from a factor analysis of gradients, whose mean is left out.

        Parameters
        ----------
        P : Preconditioner
            The preconditioner.
        gradients : LowRankGaussian
            Distribution of the gradients.
        """
        F, noise = P.whitened(gradients)
        along = P.directions.T @ F
        inside = along @ along.T + noise
        unscaled = 1 + P.directions**2 @ P.excess
        total = np.sum(F**2) + np.sum(gradients.noise * P.scale**2 * unscaled)
        return cls(inside, _mean_outside(P, total, inside), _largest(P, gradients))

    @classmethod
    def of_averages(
        cls, P: Preconditioner, inside: Array, total: float, gradients: LowRankGaussian
    ) -> GradientMoment:
        """Compute the moment from averages over a walk.

        Parameters
        ----------
        P : Preconditioner
            The preconditioner.
        inside : ndarray of shape (K, K)
            Average of (V'L'g)(V'L'g)'.
        total : float
            Average of |L'g|^2.
        gradients : LowRankGaussian
            Distribution of the gradients, from which the largest eigenvalue outside of the
            directions is computed.
        """
        outside = _mean_outside(P, total, inside)
        largest = _largest(P, gradients, outside_only=True)
        if len(inside):
            largest = max(largest, float(np.linalg.eigvalsh(inside)[-1]))
        return cls(inside, outside, max(largest, outside))


def _mean_outside(P: Preconditioner, total: float, inside: Array) -> float:
    number = P.dimension - len(inside)
    return max(total - float(np.trace(inside)), 0.0) / number if number else 0.0


def _largest(P: Preconditioner, gradients: LowRankGaussian, outside_only: bool = False) -> float:
    """Return the largest eigenvalue of L'(FF' + noise)L by power iteration."""
    V, F = P.directions, gradients.factors

    def restrict(x: Array) -> Array:
        return x - V @ (V.T @ x) if outside_only else x

    if outside_only and V.shape[1] >= P.dimension:
        return 0.0
    x = restrict(np.random.default_rng(0).standard_normal(P.dimension))
    for _ in range(_POWER_STEPS):
        x = P.apply_root(x / np.linalg.norm(x))
        x = restrict(P.apply_root_transposed(F @ (F.T @ x) + gradients.noise * x))
        if not x.any():
            return 0.0
    return float(np.linalg.norm(x))
