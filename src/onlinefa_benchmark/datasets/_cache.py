"""Files of the cache, which may be in a folder that cannot be written to."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from onlinefa_benchmark.atomic_file import atomic

log = logging.getLogger(__name__)


def save(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file to the cache; log a warning if it cannot be written.

    Parameters
    ----------
    path : Path
        Path of the file, which appears complete or not at all.
    write : callable
        Write the content to a path.
    """
    try:
        with atomic(path) as temporary:
            write(temporary)
    except OSError as error:
        log.warning("%s cannot be saved: %s", path, error)
