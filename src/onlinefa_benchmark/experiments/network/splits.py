"""Splits of a table into training rows and test rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

SplitKind = Literal["standard", "random"]

TEST_SHARE = 0.1
"""Share of the rows of a table that are test rows."""

_STANDARD_SEED = 1
_STANDARD_SPLITS = 20
_STANDARD_SPLITS_OF = {"casp": 5}


@dataclass(frozen=True, eq=False)
class Split:
    """Row numbers of the two parts of a table.

    Parameters
    ----------
    training : array of int
        Rows on which networks are trained.
    test : array of int
        Rows on which predictions are measured.
    """

    training: NDArray[np.int64]
    test: NDArray[np.int64]


def count_standard_splits(dataset: str) -> int:
    """Return the number of standard splits of a dataset."""
    return _STANDARD_SPLITS_OF.get(dataset, _STANDARD_SPLITS)


def standard_split(rows: int, number: int) -> Split:
    """Return a standard split of the literature.

    Hernández-Lobato and Adams (2015) and Gal and Ghahramani (2016) publish the row numbers of
    twenty splits for each table, five for protein structure. All of them follow from one seed of
    NumPy's legacy generator, and the same numbers are computed here.

    Parameters
    ----------
    rows : int
        Number of rows of the table.
    number : int
        Number of the split, from 0.
    """
    generator = np.random.RandomState(_STANDARD_SEED)
    for _ in range(number + 1):
        order = generator.permutation(rows)
    return _divide(order)


def random_split(rows: int, random: np.random.Generator) -> Split:
    """Return a random split.

    Parameters
    ----------
    rows : int
        Number of rows of the table.
    random : numpy.random.Generator
        Source of the order of rows.
    """
    return _divide(random.permutation(rows))


def _divide(order: NDArray[np.int64]) -> Split:
    training, test = np.split(order, [round((1 - TEST_SHARE) * len(order))])
    return Split(training, test)
