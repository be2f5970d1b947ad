"""The Laplace approximation of all weights as independent."""

from __future__ import annotations

import numpy as np

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.posteriors.laplace_all import LaplaceOfAllWeights


class LaplaceDiagonal(LaplaceOfAllWeights):
    """The Laplace approximation with the diagonal of I + A'A, for networks with many weights."""

    @staticmethod
    def _variances(A: Array, J: Array) -> Array:
        return J**2 @ (1 / (1 + np.sum(A**2, axis=0)))

    @staticmethod
    def _draws(A: Array, z: Array) -> Array:
        return z / np.sqrt(1 + np.sum(A**2, axis=0))
