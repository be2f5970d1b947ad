"""Synthetic factor analysis models: Algorithm 3 of the thesis."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from onlinefa.gaussian import LowRankGaussian


def generate(
    D: int, K: int, spectrum: tuple[float, float], random: np.random.Generator
) -> LowRankGaussian:
    """A random factor analysis model with K factors in D dimensions, as Algorithm 3 has it.

    The spectrum s^2 has D entries, one for each *row* of the eigenvectors V_K. It therefore sets
    the scale of the data, and not, as the thesis intends, the eigenvalues of F F'.
    """
    mean = random.standard_normal(D)
    A = random.standard_normal((D, D))
    V = eigh(A @ A.T, subset_by_index=[D - K, D - 1])[1]
    s2 = random.uniform(*spectrum, size=D)
    factors = V * np.sqrt(s2)[:, None]
    noise = random.uniform(0, s2.max(), size=D)
    return LowRankGaussian(mean, factors, noise)
