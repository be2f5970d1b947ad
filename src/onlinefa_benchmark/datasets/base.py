"""Description of a dataset, which its file in this folder defines, and the check of its values.

All kinds of data (tables, image sets and weights of networks) are described by the editions in
which they are published, and checked by a digest. The rest of this module describes tables.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.datasets._packages import Package, Wheel

T = TypeVar("T")
Reader = Callable[[bytes], Array]


class BadData(ValueError):
    """Exception for a file that does not contain the data that it should contain."""


class DataUnavailable(RuntimeError):
    """Exception for data that no source has.

    The message lists the sources that were tried and the folder into which the file can be put.
    """


@dataclass(frozen=True)
class Part:
    """One file of an edition.

    Parameters
    ----------
    name : str
        Name of the file in a user's folder.
    url : str, optional
        Address of the file.
    checksum : str, optional
        Digest of the file at that address, with its algorithm: ``md5:...`` or ``sha256:...``.
    member : str, optional
        Path of the file inside the edition's package.
    """

    name: str
    url: str | None = None
    checksum: str | None = None
    member: str | None = None


@dataclass(frozen=True)
class Edition(Generic[T]):
    """Files that together contain a dataset, in one format, and where they can be downloaded.

    Parameters
    ----------
    parts : tuple of Part
        The files.
    read : callable
        Convert the content of the files, in the order of `parts`, to the values.
    package : Package, optional
        A package that contains the files.
    """

    parts: tuple[Part, ...]
    read: Callable[[Sequence[bytes]], T]
    package: Package | None = None

    @property
    def address(self) -> str | None:
        """The address of the file, or the folder of several, if they can be downloaded."""
        urls = [part.url for part in self.parts if part.url]
        if len(urls) < len(self.parts):
            return None
        return urls[0] if len(urls) == 1 else f"{urls[0].rpartition('/')[0]}/"

    def parse(self, contents: Sequence[bytes]) -> T:
        """Return the values from the content of the files, unchecked.

        Raises
        ------
        BadData
            If the files cannot be read.
        """
        try:
            return self.read(contents)
        except Exception as error:  # a parser may raise anything on unexpected bytes
            reason = f"{type(error).__name__}: {_first_line(error)}"
            raise BadData(f"cannot be read ({reason})") from error


class Dataset(Protocol[T]):
    """Description of data of any kind, without its values, which have the type `T`."""

    @property
    def noun(self) -> str:
        """The kind of data, for messages."""

    @property
    def suffix(self) -> str:
        """The suffix of the saved copy."""

    @property
    def digest(self) -> str:
        """The digest of the values. It does not depend on the source."""

    @property
    def editions(self) -> Sequence[Edition[T]]:
        """The editions in which the data is published; the first one is preferred."""

    @property
    def bundled(self) -> Callable[[], T] | None:
        """A function that returns the checked values, if they come with an installed package."""

    def check(self, values: T) -> T:
        """Return the values if they have the digest; raise `BadData` otherwise."""

    def open_copy(self, path: Path) -> T:
        """Return the values of a saved copy, unchecked."""

    def save_copy(self, values: T, path: Path) -> None:
        """Save a copy."""


def save_array(values: NDArray[Any], path: Path) -> None:
    """Save an array in NumPy's format, under exactly this path."""
    with path.open("wb") as file:
        np.save(file, values, allow_pickle=False)


def check_digest(digest: str, expected: str) -> None:
    """Raise `BadData` if a digest is not the expected one."""
    if digest != expected:
        raise BadData(f"has values with the digest {digest}, expected {expected or 'none'}")


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

    @property
    def edition(self) -> Edition[Array]:
        """The edition that consists of this file."""
        checksum = f"sha256:{self.sha256}" if self.sha256 else None
        part = Part(self.name, self.url, checksum, self.member)
        return Edition((part,), self._read_contents, self.wheel)

    def _read_contents(self, contents: Sequence[bytes]) -> Array:
        (content,) = contents
        return np.asarray(self.read(content), dtype=np.float64)


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

    noun: ClassVar[str] = "table"
    suffix: ClassVar[str] = ".npy"
    bundled: ClassVar[None] = None

    @property
    def dimension(self) -> int:
        """The number of weights of a linear model: one for each input, and the bias."""
        return len(self.inputs) + 1

    @property
    def editions(self) -> list[Edition[Array]]:
        """The files, each of which is an edition."""
        return [file.edition for file in self.files]

    def check(self, values: Array) -> Array:
        """Return the values, rounded to twelve digits, if they are those of this table.

        Raises
        ------
        BadData
            If the values have another shape or another digest, or if some are missing.
        """
        shape = (self.rows, len(self.inputs) + 1)
        if values.shape != shape:
            raise BadData(f"has shape {values.shape}, expected {shape}")
        if not np.isfinite(values).all():
            raise BadData("has missing values")
        # A spreadsheet may contain 0.1 + 0.2 where a text file has 0.3.
        values = np.array([float(f"{value:.12g}") for value in values.flat]).reshape(shape)
        check_digest(compute_digest(values), self.digest)
        return values

    def open_copy(self, path: Path) -> Array:
        """Return the values of a saved copy, unchecked."""
        values: Array = np.load(path, allow_pickle=False)
        return values

    def save_copy(self, values: Array, path: Path) -> None:
        """Save a copy."""
        save_array(values, path)


def compute_digest(values: Array) -> str:
    """Return the SHA-256 digest of an array, the same on all platforms."""
    return hashlib.sha256(np.ascontiguousarray(values, dtype="<f8").tobytes()).hexdigest()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0]


def text(
    separator: str,
    *,
    header: bool,
    target: int = -1,
    drop: tuple[int, ...] = (),
    missing: str | None = None,
) -> Reader:
    """Return a reader of delimited text.

    Parameters
    ----------
    separator : str
        Separator of columns, or a regular expression for it.
    header : bool
        Whether the first line contains the names of columns.
    target : int
        Number of the target's column.
    drop : tuple of int
        Numbers of columns that are left out.
    missing : str, optional
        Mark of a missing value. Rows that contain it are left out.
    """

    def read(content: bytes) -> Array:
        import pandas as pd

        frame = pd.read_csv(
            BytesIO(content), sep=separator, header=0 if header else None, na_values=missing
        )
        if missing is not None:
            frame = frame.dropna()
        return _move_target_last(frame.to_numpy(np.float64), target, drop)

    return read


def keel() -> Reader:
    """Return a reader of the KEEL repository's format, with the target in the last column.

    Lines that begin with ``@`` describe the columns. The rows follow, separated by commas.
    """

    def read(content: bytes) -> Array:
        import pandas as pd

        frame = pd.read_csv(BytesIO(content), header=None, comment="@", skipinitialspace=True)
        return frame.to_numpy(np.float64)

    return read


def spreadsheet(*, sheet: int = 0, target: int = -1, drop: tuple[int, ...] = ()) -> Reader:
    """Return a reader of a sheet of .xls and .xlsx files.

    Empty rows and columns are ignored.

    Parameters
    ----------
    sheet : int
        Number of the sheet.
    target : int
        Number of the target's column.
    drop : tuple of int
        Numbers of columns that are left out.
    """

    def read(content: bytes) -> Array:
        import pandas as pd

        frame = pd.read_excel(BytesIO(content), sheet_name=sheet, engine="calamine")
        frame = frame.dropna(how="all").dropna(how="all", axis="columns")
        return _move_target_last(frame.to_numpy(np.float64), target, drop)

    return read


def _move_target_last(values: Array, target: int, drop: tuple[int, ...] = ()) -> Array:
    """Return the columns without those that are dropped, with the target's column at the end."""
    width = values.shape[1]
    left_out = {target % width, *(column % width for column in drop)}
    inputs = [column for column in range(width) if column not in left_out]
    return values[:, [*inputs, target % width]]
