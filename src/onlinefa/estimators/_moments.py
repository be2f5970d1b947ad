"""Running first and second moments of a stream of rows, by pairwise updates (Chan et al., 1983)."""

from __future__ import annotations

from onlinefa._arrays import NUMPY, ArrayKind, array_namespace
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
    kind : ArrayKind, default=NUMPY
        Library and device of the rows.

    Attributes
    ----------
    count : int
        Number of rows.
    mean : ndarray of shape (D,)
        Mean of the rows, in float64.
    """

    def __init__(self, D: int, *, full: bool = False, kind: ArrayKind = NUMPY) -> None:
        self.count = 0
        self.mean: Array = kind.zeros(D, double=True)
        self.full = full
        self._scatter: Array = kind.zeros(*((D, D) if full else (D,)), double=True)

    def absorb(self, X: Array) -> None:
        """Include further rows."""
        mean = compute_mean(X)
        if len(X) > 1:
            self._scatter += self._square(X - mean)
        shift = mean - self.mean
        total = self.count + len(X)
        self._scatter += self._square(shift[None, :]) * (self.count * len(X) / total)
        self.mean = self.mean + shift * (len(X) / total)
        self.count = total

    def _square(self, rows: Array) -> Array:
        if self.full:
            return rows.T @ rows
        return rows[0] ** 2 if len(rows) == 1 else array_namespace(rows).sum(rows**2, axis=0)

    @property
    def second(self) -> Array:
        """Variances, or covariance, of the rows."""
        return self._scatter / self.count


def compute_mean(rows: Array) -> Array:
    """Compute the mean of rows, of shape (..., n, D), exactly for columns that are constant.

    The first row is subtracted before averaging: a plain mean of equal numbers may be off by a
    rounding error, and constant columns would then seem to vary and to be correlated.
    """
    first = rows[..., :1, :]
    if rows.shape[-2] == 1:
        return first[..., 0, :]
    mean: Array = first + array_namespace(rows).mean(rows - first, axis=-2, keepdims=True)
    return mean[..., 0, :]
