"""Reading of archives: zip, tar and Debian packages.

Files of an archive are read into memory. Nothing is written to disk, executed or imported. All
sizes are bounded, so that a small archive cannot expand to more than the memory of the machine.
"""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import BinaryIO, Protocol

# Of a download, and of everything in it after expansion: CIFAR-10 has 184 million bytes.
MOST_BYTES = 300 * 1024**2


class BadArchive(OSError):
    """Exception for an archive that is damaged, too large, or does not contain a file."""


class _Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


class _BoundedReader(io.RawIOBase):
    """Reads another stream, and raises an exception after a number of bytes."""

    def __init__(self, stream: _Readable, most: int) -> None:
        self._stream = stream
        self._left = most

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        content = self._stream.read(self._left + 1 if size < 0 else min(size, self._left + 1))
        self._left -= len(content)
        if self._left < 0:
            raise BadArchive("expands to more bytes than are read")
        return content


def expand(content: bytes) -> bytes:
    """Return the content of a file that may be compressed with gzip, xz or zstandard.

    Raises
    ------
    BadArchive
        If the file is damaged, or if its content is larger than `MOST_BYTES`.
    """
    with _errors_of_archives():
        return _BoundedReader(_decompress(io.BytesIO(content)), MOST_BYTES).read()


def read_zip(file: BinaryIO, names: Iterable[str]) -> list[bytes]:
    """Return the content of files of a zip archive.

    Parameters
    ----------
    file : binary file
        The archive.
    names : iterable of str
        Paths inside the archive.

    Returns
    -------
    list of bytes
        The content of each file, in the order of `names`.

    Raises
    ------
    BadArchive
        If the archive is damaged, lacks a file, or if the files are larger than `MOST_BYTES`.
    """
    contents, left = [], MOST_BYTES
    with _errors_of_archives(), zipfile.ZipFile(file) as archive:
        for name in names:
            try:
                member = archive.getinfo(name)
            except KeyError:
                raise BadArchive(f"has no {name}") from None
            with archive.open(member) as stream:
                contents.append(_BoundedReader(stream, left).read())
            left -= len(contents[-1])
    return contents


def read_tar(file: BinaryIO, names: Iterable[str]) -> list[bytes]:
    """Return the content of files of a tar archive, which may be compressed.

    Parameters, results and errors are those of `read_zip`.
    """
    wanted, found = list(names), dict[str, bytes]()
    with _errors_of_archives():
        stream = _BoundedReader(_decompress(file), MOST_BYTES)
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                name = str(PurePosixPath(member.name))  # without the "./" of Debian's archives
                if name in wanted and member.isreg() and not member.issparse():
                    content = archive.extractfile(member)
                    found[name] = content.read() if content else b""
                if len(found) == len(wanted):
                    break
    missing = [name for name in wanted if name not in found]
    if missing:
        raise BadArchive(f"has no {missing[0]}")
    return [found[name] for name in wanted]


def read_deb(file: BinaryIO, names: Iterable[str]) -> list[bytes]:
    """Return the content of files of a Debian package: an ar archive that contains a tar archive.

    Parameters, results and errors are those of `read_zip`.
    """
    for name, content in _members_of_ar(file):
        if name.startswith("data.tar"):
            return read_tar(io.BytesIO(content), names)
    raise BadArchive("has no data.tar")


def _members_of_ar(file: BinaryIO) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each member of an ar archive (``man 5 ar``)."""
    if file.read(8) != b"!<arch>\n":
        raise BadArchive("is not an ar archive")
    while header := file.read(60):
        size = header[48:58].strip()
        if len(header) < 60 or header[58:] != b"`\n" or not size.isdigit():
            raise BadArchive("has a damaged header")
        if int(size) > MOST_BYTES:
            raise BadArchive("expands to more bytes than are read")
        content = file.read(int(size))
        if len(content) < int(size):
            raise BadArchive("ends too early")
        yield header[:16].decode("ascii", "replace").rstrip(" /"), content
        file.read(int(size) % 2)  # members begin at even positions


def _decompress(file: BinaryIO) -> _Readable:
    """Return a stream of the expanded content; the first bytes tell the compression."""
    start = file.read(6)
    file.seek(-len(start), io.SEEK_CUR)
    if start.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=file)
    if start.startswith(b"\xfd7zXZ\x00"):
        return lzma.LZMAFile(file)
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        import pyarrow as pa  # Python has a module for zstandard since 3.14

        stream: _Readable = pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")
        return stream
    return file


@contextmanager
def _errors_of_archives() -> Iterator[None]:
    """Turn the errors of all formats into `BadArchive`."""
    try:
        yield
    except BadArchive:
        raise
    except (
        EOFError,
        OSError,
        RuntimeError,  # of zipfile, for an encrypted file or an unknown compression
        lzma.LZMAError,
        tarfile.TarError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise BadArchive(f"is damaged ({type(error).__name__}: {error})") from error
