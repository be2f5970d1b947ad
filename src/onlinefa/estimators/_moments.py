"""Running first and second moments of a stream of rows, by pairwise updates (Chan et al., 1983)."""

from __future__ import annotations

from onlinefa._arrays import NUMPY, ArrayKind, array_namespace, iterate_tiles
from onlinefa.gaussian import Array

# Number of columns of a single row that are processed at once.
ROW_TILE = 16_384


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
        if len(X) == 1 and not self.full:
            self._absorb_row(X[0])
            return
        mean = compute_mean(X)
        shift = mean - self.mean
        total = self.count + len(X)
        self._scatter += self._square(X - mean)
        self._scatter += self._square(shift[None, :]) * (self.count * len(X) / total)
        self.mean = self.mean + shift * (len(X) / total)
        self.count = total

    def _absorb_row(self, row: Array) -> None:
        total = self.count + 1
        for tile in iterate_tiles(row, ROW_TILE):
            shift = row[tile] - self.mean[tile]
            self.mean[tile] += shift / total
            shift *= shift
            shift *= self.count / total
            self._scatter[tile] += shift
        self.count = total

    def _square(self, rows: Array) -> Array:
        return rows.T @ rows if self.full else array_namespace(rows).sum(rows**2, axis=0)

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
    mean: Array = first + array_namespace(rows).mean(rows - first, axis=-2, keepdims=True)
    return mean[..., 0, :]
