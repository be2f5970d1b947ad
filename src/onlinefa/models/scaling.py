"""Columns in units of their own mean and standard deviation, and a constant one for the bias."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onlinefa.gaussian import Array


@dataclass(frozen=True, eq=False)
class Scaling:
    """What is subtracted from a column, and what it is divided by."""

    mean: Array | float
    sd: Array | float

    @classmethod
    def of(cls, columns: Array) -> Scaling:
        """Of an array of shape (N, p), or (N,). A column that does not vary has no scale."""
        if len(columns) < 2:
            raise ValueError(f"two training points are needed, got {len(columns)}")
        constant = np.flatnonzero(np.ptp(columns, axis=0) == 0)
        if len(constant):
            name = constant[0] if columns.ndim > 1 else "y"
            raise ValueError(f"column {name} does not vary")
        return cls(columns.mean(axis=0), columns.std(axis=0))

    def apply(self, columns: Array) -> Array:
        return (columns - self.mean) / self.sd


def with_one(columns: Array) -> Array:
    """The columns, and one more of ones."""
    return np.column_stack([columns, np.ones(len(columns))])
