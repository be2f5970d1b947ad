"""Initial factors of an estimator, given or drawn."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from onlinefa._arrays import ArrayKind, is_torch_array, to_numpy
from onlinefa.gaussian import Array


def make_initial_factors(
    D: int,
    K: int,
    init_factors: ArrayLike | None,
    random_state: int | np.random.RandomState | None,
    kind: ArrayKind,
) -> Array:
    """Check the initial factors, or draw orthonormal ones (section 4.3 of the thesis).

    Parameters
    ----------
    D, K : int
        Number of columns and number of factors.
    init_factors : array-like of shape (D, K) or None
        Initial factors; None draws them.
    random_state : int, RandomState instance or None
        Seed of the random factors.
    kind : ArrayKind
        Library, type and device of the result.

    Returns
    -------
    factors : ndarray of shape (D, K)
        A new array.

    Raises
    ------
    ValueError
        If `init_factors` has another shape, or entries that are not finite.
    """
    if init_factors is None:
        normals = check_random_state(random_state).standard_normal((D, K))
        return kind.make(orthonormal_factors(normals).astype(kind.dtype_name))
    given = to_numpy(init_factors) if is_torch_array(init_factors) else init_factors
    factors: Array = np.array(given, dtype=kind.dtype_name)
    if factors.shape != (D, K):
        raise ValueError(f"init_factors has shape {factors.shape}, expected {(D, K)}")
    if not np.isfinite(factors).all():
        raise ValueError("init_factors has NaN or infinite entries")
    return kind.make(factors)


def orthonormal_factors(normals: Array) -> Array:
    """Compute orthonormal factors from normal numbers (section 4.3 of the thesis).

    Parameters
    ----------
    normals : ndarray of shape (D, K)
        Independent standard normal numbers.

    Returns
    -------
    factors : ndarray of shape (D, K)
        The orthonormal Q of the reduced QR decomposition.
    """
    return np.linalg.qr(normals)[0]
