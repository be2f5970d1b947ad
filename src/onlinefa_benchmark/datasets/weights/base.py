"""Description of the weights of a network, which its file in this folder defines."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from onlinefa_benchmark.datasets.base import Edition, check_digest


@dataclass(frozen=True)
class Weights:
    """Weights of a pretrained network: a file that ``torch.load(weights_only=True)`` reads.

    Parameters
    ----------
    title : str
        Title for readers.
    license : str
        License under which the weights are published.
    digest : str
        SHA-256 digest of the file.
    editions : tuple of Edition
        Files that contain the weights.
    """

    title: str
    license: str
    digest: str
    editions: tuple[Edition[bytes], ...]

    noun: ClassVar[str] = "file of weights"
    suffix: ClassVar[str] = ".pth"
    bundled: ClassVar[None] = None

    def check(self, values: bytes) -> bytes:
        """Return the content of the file if it has the digest.

        Raises
        ------
        BadData
            If it has another digest.
        """
        check_digest(hashlib.sha256(values).hexdigest(), self.digest)
        return values

    def open_copy(self, path: Path) -> bytes:
        """Return the content of a saved copy, unchecked."""
        return path.read_bytes()

    def save_copy(self, values: bytes, path: Path) -> None:
        """Save a copy."""
        path.write_bytes(values)


def read_file(contents: Sequence[bytes]) -> bytes:
    """Return the content of an edition that is one file."""
    (content,) = contents
    return content
