"""Second moment of whitened gradients, which determines how much noise a Langevin step adds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onlinefa.gaussian import Array, LowRankGaussian
from onlinefa.walks.preconditioner import Preconditioner

__all__ = ["GradientAverages", "GradientMoment"]

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


class GradientAverages:
    """Averages over a walk from which the second moment of its whitened gradients is computed.

    A factor analysis of gradients is not accurate enough where gradients are nearly collinear. The
    mean of the gradients is left out: in the stationary law it is zero.

    Parameters
    ----------
    P : Preconditioner
        The preconditioner of the walk.
    gradients : LowRankGaussian
        An earlier estimate of the distribution of gradients, from which the largest eigenvalue
        outside of the directions is computed.
    """

    def __init__(self, P: Preconditioner, gradients: LowRankGaussian) -> None:
        K = P.directions.shape[1]
        self._P = P
        self._gradients = gradients
        self._count = 0
        self._sum = np.zeros(P.dimension)
        self._inside = np.zeros((K, K))
        self._total = 0.0

    def absorb(self, gradients: Array) -> None:
        """Add gradients of shape (n, D)."""
        whitened = self._P.apply_root_transposed(gradients)
        along = whitened @ self._P.directions
        self._count += len(whitened)
        self._sum += whitened.sum(axis=0)
        self._inside += along.T @ along
        self._total += float(np.sum(whitened**2))

    def moment(self) -> GradientMoment:
        """Return the second moment of all gradients so far."""
        mean = self._sum / self._count
        along = mean @ self._P.directions
        inside = self._inside / self._count - np.outer(along, along)
        outside = _mean_outside(self._P, self._total / self._count - float(mean @ mean), inside)
        largest = _largest(self._P, self._gradients, outside_only=True)
        if len(inside):
            largest = max(largest, float(np.linalg.eigvalsh(inside)[-1]))
        return GradientMoment(inside, outside, max(largest, outside))


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
