"""Random factor analysis models to test with."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from onlinefa.gaussian import LowRankGaussian


def make_factor_model(
    D: int, K: int, spectrum: tuple[float, float], random: np.random.Generator
) -> LowRankGaussian:
    """Draw a model as Algorithm 3 of the thesis does, with a scale for each row of the factors."""
    mean = random.standard_normal(D)
    A = random.standard_normal((D, D))
    V = eigh(A @ A.T, subset_by_index=[D - K, D - 1])[1]
    s2 = random.uniform(*spectrum, size=D)
    noise = random.uniform(0, s2.max(), size=D)
    return LowRankGaussian(mean, V * np.sqrt(s2)[:, None], noise)
