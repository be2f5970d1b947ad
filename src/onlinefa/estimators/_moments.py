"""Running first and second moments of a stream of rows, by pairwise updates (Chan et al., 1983)."""

from __future__ import annotations

import numpy as np

from onlinefa.gaussian import Array


class RunningMoments:
    """Mean and central second moment of the rows absorbed so far.

    Parameters
    ----------
    D : int
        Number of columns.
    full : bool, default=False
        Whether the second moment is the D x D covariance instead of the D variances. Both divide
        by the number of rows, as maximum likelihood does.

    Attributes
    ----------
    count : int
        Number of rows.
    mean : ndarray of shape (D,)
        Mean of the rows.
    """

    def __init__(self, D: int, *, full: bool = False) -> None:
        self.count = 0
        self.mean = np.zeros(D)
        self.full = full
        self._scatter = np.zeros((D, D) if full else D)

    def absorb(self, X: Array) -> None:
        """Include further rows."""
        mean = compute_mean(X)
        deviations = X - mean
        shift = mean - self.mean
        total = self.count + len(X)
        self._scatter += self._square(deviations)
        self._scatter += self._square(shift[None, :]) * (self.count * len(X) / total)
        self.mean = self.mean + shift * (len(X) / total)
        self.count = total

    def _square(self, rows: Array) -> Array:
        return rows.T @ rows if self.full else np.sum(rows**2, axis=0)

    @property
    def second(self) -> Array:
        """Variances, or covariance, of the rows."""
        return self._scatter / self.count


def compute_mean(rows: Array) -> Array:
    """Compute the mean of rows, exactly for columns that are constant.

    The first row is subtracted before averaging: a plain mean of equal numbers may be off by a
    rounding error, and constant columns would then seem to vary and to be correlated.
    """
    first = rows[0]
    mean: Array = first + np.mean(rows - first, axis=0)
    return mean
