"""Batches of rows: drawn with replacement, by reshuffling, or all rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Batches", "Sampler", "Sampling", "make_sampler"]

Integers = NDArray[np.int64]
Sampling = Literal["replacement", "reshuffled", "full"]


@dataclass(frozen=True, eq=False)
class Batches:
    """The rows of several batches.

    Parameters
    ----------
    order : ndarray of int
        Row indices of all batches, one batch after the other.
    sizes : ndarray of int
        Number of rows of each batch.
    """

    order: Integers
    sizes: Integers

    def __len__(self) -> int:
        return len(self.sizes)

    def __iter__(self) -> Iterator[Integers]:
        return iter(np.split(self.order, np.cumsum(self.sizes)[:-1]))


class Sampler(ABC):
    """Base class of sources of batches.

    Parameters
    ----------
    n_rows : int
        Number of rows of the table.
    batch_size : int
        Number of rows of a batch.
    random : numpy.random.Generator
        Source of randomness.
    """

    def __init__(self, n_rows: int, batch_size: int, random: np.random.Generator) -> None:
        self.n_rows = n_rows
        self.batch_size = batch_size
        self.random = random

    @abstractmethod
    def draw(self, number: int) -> Batches:
        """Draw the next batches."""


class _Replacement(Sampler):
    """Batches whose rows are drawn independently of one another."""

    def draw(self, number: int) -> Batches:
        order = self.random.integers(self.n_rows, size=number * self.batch_size)
        return Batches(order, np.full(number, self.batch_size))


class _Reshuffled(Sampler):
    """Batches that go through the table in a new order each epoch.

    The last batch of an epoch contains the remaining rows.
    """

    def __init__(self, n_rows: int, batch_size: int, random: np.random.Generator) -> None:
        super().__init__(n_rows, batch_size, random)
        self._left: list[Integers] = []

    def draw(self, number: int) -> Batches:
        while len(self._left) < number:
            order = self.random.permutation(self.n_rows)
            self._left += np.split(order, range(self.batch_size, self.n_rows, self.batch_size))
        drawn, self._left = self._left[:number], self._left[number:]
        return Batches(np.concatenate(drawn), np.array([len(batch) for batch in drawn]))


class _Full(Sampler):
    """Batches that are the whole table."""

    def draw(self, number: int) -> Batches:
        return Batches(np.tile(np.arange(self.n_rows), number), np.full(number, self.n_rows))


def make_sampler(
    sampling: Sampling, n_rows: int, batch_size: int, random: np.random.Generator
) -> Sampler:
    """Create a sampler by its name.

    Parameters
    ----------
    sampling : {"replacement", "reshuffled", "full"}
        How batches are drawn.
    n_rows : int
        Number of rows of the table.
    batch_size : int
        Number of rows of a batch, between 1 and `n_rows`. Full batches do not use it.
    random : numpy.random.Generator
        Source of randomness.
    """
    kinds: dict[str, type[Sampler]] = {
        "replacement": _Replacement,
        "reshuffled": _Reshuffled,
        "full": _Full,
    }
    if sampling not in kinds:
        raise ValueError(f"sampling must be one of {', '.join(kinds)}, got {sampling!r}")
    if not 1 <= batch_size <= n_rows:
        raise ValueError(f"batch_size must be between 1 and {n_rows}, got {batch_size}")
    return kinds[sampling](n_rows, batch_size, random)
