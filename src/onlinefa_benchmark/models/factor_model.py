"""Random factor analysis models: Algorithm 3 of the thesis, and a corrected variant."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from onlinefa.gaussian import LowRankGaussian
from onlinefa_benchmark.arrays import Array


def generate(
    D: int, K: int, spectrum: tuple[float, float], random: np.random.Generator
) -> LowRankGaussian:
    """Draw a factor analysis model as Algorithm 3 of the thesis does.

    The spectrum s^2 has D entries, one for each *row* of the eigenvectors V_K. It therefore sets
    the scale of the data and not, as the thesis intends, the eigenvalues of F F'.

    Parameters
    ----------
    D : int
        Number of dimensions.
    K : int
        Number of factors.
    spectrum : tuple of float
        Range from which the entries of s^2 are drawn.
    random : numpy.random.Generator
        Source of random numbers.

    Returns
    -------
    LowRankGaussian
        The distribution of observations.
    """
    mean, V = _draw_mean_and_eigenvectors(D, K, random)
    s2 = random.uniform(*spectrum, size=D)
    return _build_model(mean, V * np.sqrt(s2)[:, None], s2, random)


def generate_with_eigenvalues(
    D: int, K: int, spectrum: tuple[float, float], random: np.random.Generator
) -> LowRankGaussian:
    """Draw a factor analysis model in which s^2 are the eigenvalues of F F'.

    Unlike in `generate`, s^2 has K entries, one for each *column* of V_K.

    Parameters
    ----------
    D : int
        Number of dimensions.
    K : int
        Number of factors.
    spectrum : tuple of float
        Range from which the eigenvalues are drawn.
    random : numpy.random.Generator
        Source of random numbers.

    Returns
    -------
    LowRankGaussian
        The distribution of observations.
    """
    mean, V = _draw_mean_and_eigenvectors(D, K, random)
    s2 = random.uniform(*spectrum, size=K)
    return _build_model(mean, V * np.sqrt(s2), s2, random)


def _draw_mean_and_eigenvectors(D: int, K: int, random: np.random.Generator) -> tuple[Array, Array]:
    mean = random.standard_normal(D)
    A = random.standard_normal((D, D))
    return mean, eigh(A @ A.T, subset_by_index=[D - K, D - 1])[1]


def _build_model(
    mean: Array, factors: Array, s2: Array, random: np.random.Generator
) -> LowRankGaussian:
    return LowRankGaussian(mean, factors, random.uniform(0, s2.max(), size=mean.size))
