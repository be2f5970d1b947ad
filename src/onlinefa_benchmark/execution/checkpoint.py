"""Checkpoints: the state of an interrupted fit, from which the next attempt continues.

A cluster sends SIGTERM about half a minute before it ends a job. The current fit then writes its
state to a file named by the cell's digest: arrays and plain values in NumPy's format, without
pickled objects. The next attempt draws the same observations again, which is cheap, skips those
that were learned from, and ends with the same bits as an uninterrupted fit. Training runs of deep
networks, which several cells share, save their state to the workspace of the job instead.
"""

from __future__ import annotations

import json
import logging
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn
from zipfile import BadZipFile

import numpy as np

from onlinefa.estimators.base import FactorEstimator
from onlinefa.serialization import CannotRestore, restore, save
from onlinefa_benchmark.atomic_file import atomic

log = logging.getLogger(__name__)

EXIT_CODE = 128 + signal.SIGTERM
GRACE = 20
"""Seconds that a fit has to finish a block of observations; clusters give about 30."""


class Interrupted(BaseException):
    """Exception for a fit that has saved its state because of a SIGTERM."""


class Checkpoint:
    """The file of a cell's state.

    Parameters
    ----------
    path : Path
        The file, named by the cell's digest.

    Attributes
    ----------
    is_stop_requested : bool
        Whether the fit should save its state and stop.
    is_used : bool
        Whether the fit checks `is_stop_requested` and can save its state.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_stop_requested = False
        self.is_used = False

    def resume(self, estimator: FactorEstimator) -> dict[str, Any] | None:
        """Restore an estimator from an earlier attempt; return what else was saved, if any."""
        self.is_used = True
        saved = self._load()
        if saved is None:
            return None
        try:
            restore(estimator, saved.pop("estimator"))
        except CannotRestore as reason:
            log.warning("%s is discarded: %s", self.path, reason)
            return None
        log.info("continuing from the state that an earlier attempt has saved")
        return saved

    def stop(self, estimator: FactorEstimator, values: Mapping[str, Any]) -> NoReturn:
        """Save an estimator and values for the next attempt, and end this one."""
        self._save({**values, "estimator": save(estimator)})
        self.end()

    def watch(self) -> None:
        """Announce that the fit checks `is_stop_requested`, saves its state itself and ends."""
        self.is_used = True

    def end(self) -> NoReturn:
        """End this attempt, after the fit has saved its state itself."""
        raise Interrupted("the fit was stopped by SIGTERM and has saved its state")

    def delete(self) -> None:
        """Delete the file."""
        self.path.unlink(missing_ok=True)

    def _load(self) -> dict[str, Any] | None:
        if not self.path.exists():
            return None
        try:
            with np.load(self.path, allow_pickle=False) as arrays:
                values = json.loads(arrays["values"].tobytes())
                found: dict[str, Any] = _insert_arrays(values, dict(arrays))
            if found.pop("digest") != self.path.stem:
                raise ValueError("it is the state of another cell")
        except (BadZipFile, OSError, ValueError, KeyError, TypeError, EOFError) as error:
            log.warning("%s is discarded: %s", self.path, error)
            self.delete()
            return None
        return found

    def _save(self, values: dict[str, Any]) -> None:
        arrays: dict[str, np.ndarray] = {}
        plain = _extract_arrays(values | {"digest": self.path.stem}, arrays)
        arrays["values"] = np.frombuffer(json.dumps(plain).encode(), dtype=np.uint8)
        with atomic(self.path) as temporary, temporary.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]


class StopRequests:
    """Signal handler that passes a SIGTERM on to the checkpoint of the current fit."""

    def __init__(self) -> None:
        self._current: Checkpoint | None = None
        self._is_pending = False

    def listen(self) -> None:
        """Install the handler: on SIGTERM, the current fit saves its state.

        If the current fit cannot save its state, or takes too long, the process ends.
        """
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGALRM, self._stop)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        current = self._current
        if number == signal.SIGALRM or current is None or not current.is_used:
            raise SystemExit(EXIT_CODE)
        # Slurm and terminals signal all processes of a job, and the parent process passes its
        # signal on: the same request arrives twice.
        if not current.is_stop_requested:
            current.is_stop_requested = True
            signal.alarm(GRACE)

    @contextmanager
    def checkpoint(self, path: Path) -> Iterator[Checkpoint]:
        """Yield the checkpoint of a fit, which is deleted when the fit is done.

        If the previous fit has finished in spite of a request, the process ends instead.
        """
        if self._is_pending:
            raise SystemExit(EXIT_CODE)
        current = self._current = Checkpoint(path)
        try:
            yield current
            current.delete()
            self._is_pending = current.is_stop_requested
        finally:
            signal.alarm(0)
            self._current = None


def _extract_arrays(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Return a value for JSON, with the names of arrays in place of arrays."""
    if isinstance(value, np.ndarray):
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, dict):
        return {"dict": {key: _extract_arrays(item, arrays) for key, item in value.items()}}
    if isinstance(value, list):
        return [_extract_arrays(item, arrays) for item in value]
    return value


def _insert_arrays(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(value, list):
        return [_insert_arrays(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    return {key: _insert_arrays(item, arrays) for key, item in value["dict"].items()}
