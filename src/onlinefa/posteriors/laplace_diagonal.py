"""Laplace's approximation of all weights, as if they were independent."""

from __future__ import annotations

import numpy as np

from onlinefa.gaussian import Array
from onlinefa.posteriors.laplace_all import LaplaceOfAllWeights


class LaplaceDiagonal(LaplaceOfAllWeights):
    """The diagonal of I + A'A, and nothing else of it: for networks with many weights."""

    @staticmethod
    def _variances(A: Array, J: Array) -> Array:
        return J**2 @ (1 / (1 + np.sum(A**2, axis=0)))

    @staticmethod
    def _draws(A: Array, z: Array) -> Array:
        return z / np.sqrt(1 + np.sum(A**2, axis=0))
