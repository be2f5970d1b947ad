"""A fit that is told to stop keeps what it has learned, and the next attempt goes on from there.

Clusters take nodes away with a SIGTERM and half a minute's notice. The fit of the moment then
writes its state to a file that is named by the cell's digest: arrays and plain values, in NumPy's
own format, of which nothing is ever unpickled. The next attempt draws the same observations again,
which is cheap, leaves out those that were learned from, and ends with the same bits as a fit that
nobody interrupted.
"""

from __future__ import annotations

import json
import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any
from zipfile import BadZipFile

import numpy as np

from onlinefa.files import atomic

log = logging.getLogger(__name__)

EXIT_CODE = 128 + signal.SIGTERM
GRACE = 20
"""Seconds that a fit has to come to the end of a block of observations; clusters give 30 or so."""


class Interrupted(BaseException):
    """The fit was told to stop, and has kept what it had."""


class Checkpoint:
    """Where a cell's state goes, if it must."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stop = False
        """Whether the fit was told to."""
        self.is_used = False
        """Whether the fit looks at that from time to time, and would keep its state."""

    def load(self) -> dict[str, Any] | None:
        """What an earlier attempt has kept; None if that is nothing, or not to be trusted."""
        if not self.path.exists():
            return None
        try:
            with np.load(self.path, allow_pickle=False) as arrays:
                values = json.loads(arrays["values"].tobytes())
                found: dict[str, Any] = _with_arrays(values, dict(arrays))
            if found.pop("digest") != self.path.stem:
                raise ValueError("it is another cell's")
        except (BadZipFile, OSError, ValueError, KeyError, TypeError, EOFError) as error:
            log.warning("%s is discarded: %s", self.path, error)
            self.forget()
            return None
        log.info("going on from what an earlier attempt has kept")
        return found

    def save(self, values: dict[str, Any]) -> None:
        arrays: dict[str, np.ndarray] = {}
        plain = _without_arrays(values | {"digest": self.path.stem}, arrays)
        arrays["values"] = np.frombuffer(json.dumps(plain).encode(), dtype=np.uint8)
        with atomic(self.path) as temporary, temporary.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)


_current: Checkpoint | None = None


def current() -> Checkpoint | None:
    """That of the cell that is being fitted; None if nobody would go on from it."""
    if _current:
        _current.is_used = True
    return _current


@contextmanager
def kept_at(path: Path) -> Iterator[None]:
    """While a cell is fitted, which a SIGTERM ends at the next opportunity; then forgotten."""
    global _current
    checkpoint = _current = Checkpoint(path)
    try:
        yield
        checkpoint.forget()
    finally:
        signal.alarm(0)
        _current = None


def listen() -> None:
    """From now on a SIGTERM is for the checkpoint, if there is one that is still to be written, and
    ends the process if not."""

    def stop(number: int, frame: FrameType | None) -> None:
        if _current is None or not _current.is_used or _current.stop:
            raise SystemExit(EXIT_CODE)
        _current.stop = True
        signal.alarm(GRACE)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGALRM, stop)


def _without_arrays(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """A value for JSON, with the names of arrays in place of arrays."""
    if isinstance(value, np.ndarray):
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, dict):
        return {"dict": {key: _without_arrays(item, arrays) for key, item in value.items()}}
    if isinstance(value, list):
        return [_without_arrays(item, arrays) for item in value]
    return value


def _with_arrays(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(value, list):
        return [_with_arrays(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    return {key: _with_arrays(item, arrays) for key, item in value["dict"].items()}
