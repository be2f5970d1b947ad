"""The distribution of SWAG by the formula of its paper, in NumPy and float64.

Maddox, Garipov, Izmailov, Vetrov and Wilson (2019), A simple baseline for Bayesian uncertainty in
deep learning, equation 1 and algorithm 1.
"""

from __future__ import annotations

import numpy as np


def compute_moments(rows: np.ndarray, K: int) -> tuple[np.ndarray, np.ndarray]:
    """Compute mean and covariance of SWAG after a walk of at least K steps.

    Parameters
    ----------
    rows : ndarray of shape (T, D)
        Weight vectors, in their order.
    K : int
        Number of deviations that are kept, at least two.

    Returns
    -------
    mean : ndarray of shape (D,)
        Mean of the rows.
    covariance : ndarray of shape (D, D)
        Half of the variances plus half of the sample covariance of the last K deviations.

    Examples
    --------
    >>> mean, covariance = compute_moments(np.array([[0.0, 0.0], [2.0, 4.0]]), 2)
    >>> mean
    array([1., 2.])
    >>> covariance
    array([[1., 1.],
           [1., 4.]])
    """
    rows = np.asarray(rows, dtype=np.float64)
    mean = rows.mean(axis=0)
    variances = np.maximum((rows**2).mean(axis=0) - mean**2, 0)
    running_means = np.cumsum(rows, axis=0) / np.arange(1, len(rows) + 1)[:, None]
    deviations = (rows - running_means)[-K:].T
    return mean, np.diag(variances) / 2 + deviations @ deviations.T / (2 * (K - 1))
