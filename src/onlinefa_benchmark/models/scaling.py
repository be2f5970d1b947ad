"""Standardisation of columns, and a constant column for the bias."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onlinefa_benchmark.arrays import Array


@dataclass(frozen=True, eq=False)
class Scaling:
    """A linear map that standardises columns.

    Parameters
    ----------
    mean : array of shape (p,) or float
        What is subtracted from each column.
    sd : array of shape (p,) or float
        What each column is divided by.
    """

    mean: Array | float
    sd: Array | float

    @classmethod
    def of(cls, columns: Array) -> Scaling:
        """Return the scaling by the means and standard deviations of columns.

        Parameters
        ----------
        columns : array of shape (N, p) or (N,)
            Training inputs or targets.

        Raises
        ------
        ValueError
            If there are fewer than two rows, or if a column does not vary.
        """
        if len(columns) < 2:
            raise ValueError(f"two training points are needed, got {len(columns)}")
        constant = np.flatnonzero(np.ptp(columns, axis=0) == 0)
        if len(constant):
            name = constant[0] if columns.ndim > 1 else "y"
            raise ValueError(f"column {name} does not vary")
        return cls(columns.mean(axis=0), columns.std(axis=0))

    def apply(self, columns: Array) -> Array:
        """Return the standardised columns."""
        return (columns - self.mean) / self.sd


def append_ones(columns: Array) -> Array:
    """Return the columns followed by a column of ones."""
    return np.column_stack([columns, np.ones(len(columns))])
