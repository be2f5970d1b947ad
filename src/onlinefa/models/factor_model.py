"""Synthetic factor analysis models: Algorithm 3 of the thesis, and what it meant to be."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from onlinefa.gaussian import Array, LowRankGaussian


def generate(
    D: int, K: int, spectrum: tuple[float, float], random: np.random.Generator
) -> LowRankGaussian:
    """A random factor analysis model with K factors in D dimensions, as Algorithm 3 has it.

    The spectrum s^2 has D entries, one for each *row* of the eigenvectors V_K. It therefore sets
    the scale of the data, and not, as the thesis intends, the eigenvalues of F F'.
    """
    mean, V = _mean_and_eigenvectors(D, K, random)
    s2 = random.uniform(*spectrum, size=D)
    return _model(mean, V * np.sqrt(s2)[:, None], s2, random)


def generate_with_eigenvalues(
    D: int, K: int, spectrum: tuple[float, float], random: np.random.Generator
) -> LowRankGaussian:
    """The same with K entries of s^2, one for each *column* of V_K: the eigenvalues of F F'."""
    mean, V = _mean_and_eigenvectors(D, K, random)
    s2 = random.uniform(*spectrum, size=K)
    return _model(mean, V * np.sqrt(s2), s2, random)


def _mean_and_eigenvectors(D: int, K: int, random: np.random.Generator) -> tuple[Array, Array]:
    mean = random.standard_normal(D)
    A = random.standard_normal((D, D))
    return mean, eigh(A @ A.T, subset_by_index=[D - K, D - 1])[1]


def _model(mean: Array, factors: Array, s2: Array, random: np.random.Generator) -> LowRankGaussian:
    return LowRankGaussian(mean, factors, random.uniform(0, s2.max(), size=mean.size))
