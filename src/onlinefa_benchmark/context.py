"""Context of a cell's computation: what the job that runs it provides.

Modules that compute import this module for type checking only. They access files, progress,
checkpoints and the configuration through the context, so that the code for these is not part of a
cell's fingerprint.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar

from onlinefa_benchmark.arrays import Array

if TYPE_CHECKING:
    from onlinefa_benchmark.cells import Cell
    from onlinefa_benchmark.datasets.images import ImageData

T = TypeVar("T")


class Pace(Protocol):
    """The progress of one loop."""

    def skip(self, done: int) -> None:
        """Exclude `done` units of an earlier attempt from the estimated speed."""

    def reach(self, done: int) -> None:
        """Report that `done` units are done."""


class Progress(Protocol):
    """Reports of the progress of long loops."""

    def start(self, total: int, unit: str) -> Pace:
        """Begin a loop over `total` units."""

    def over(self, items: Sequence[T], unit: str) -> Iterable[T]:
        """Iterate over items and report how many are done."""


class Checkpoint(Protocol):
    """Saved state of an interrupted fit, from which the next attempt continues."""

    @property
    def is_stop_requested(self) -> bool:
        """Whether the fit should save its state and stop."""

    def resume(self, estimator: Any) -> Mapping[str, Any] | None:
        """Restore the estimator from an earlier attempt; return what else was saved, if any."""

    def stop(self, estimator: Any, values: Mapping[str, Any]) -> NoReturn:
        """Save the estimator and values for the next attempt, then end this one."""

    def watch(self) -> None:
        """Announce that the fit checks `is_stop_requested`, saves its state itself and ends."""

    def end(self) -> NoReturn:
        """End this attempt, after the fit has saved its state itself."""


class Workspace(Protocol):
    """Files with the state of unfinished work, which are deleted when all cells are done."""

    def load(self, name: str) -> dict[str, Any] | None:
        """Return a saved state; None if there is none."""

    def save(self, name: str, state: Mapping[str, Any]) -> None:
        """Save a state: tensors, numbers, strings, lists and dicts."""


class NoWorkspace:
    """A workspace that saves nothing."""

    def load(self, name: str) -> dict[str, Any] | None:
        """Return None."""
        return None

    def save(self, name: str, state: Mapping[str, Any]) -> None:
        """Do nothing."""


class _SilentPace:
    def skip(self, done: int) -> None:
        pass

    def reach(self, done: int) -> None:
        pass


class SilentProgress:
    """Progress that is not reported."""

    def start(self, total: int, unit: str) -> Pace:
        """Begin a loop of which nothing is reported."""
        return _SilentPace()

    def over(self, items: Sequence[T], unit: str) -> Iterable[T]:
        """Return the items."""
        return items


class Cache:
    """Results that cells of one job share, such as the networks trained on one split.

    For each kind of result only the most recent ones are kept: cells that share a result follow
    one another in a job.
    """

    def __init__(self) -> None:
        self._kinds: dict[str, OrderedDict[Hashable, Any]] = {}

    def get(self, kind: str, key: Hashable, make: Callable[[], T], keep: int = 1) -> T:
        """Return the result of a kind for a key; make it unless it is among the `keep` latest."""
        kept = self._kinds.setdefault(kind, OrderedDict())
        if key not in kept:
            value = make()
            kept[key] = value
            while len(kept) > keep:
                kept.popitem(last=False)
        kept.move_to_end(key)
        found: T = kept[key]
        return found


def _no_tables(name: str) -> tuple[Array, Array]:
    raise LookupError(f"this context has no table '{name}'")


def _no_images(name: str) -> ImageData:
    raise LookupError(f"this context has no image set '{name}'")


def _no_weights(name: str) -> Path:
    raise LookupError(f"this context has no weights '{name}'")


@dataclass(frozen=True)
class Context:
    """Everything that a job provides for the computation of a cell.

    Parameters
    ----------
    algorithm : type
        Class of the cell's algorithm.
    read_table : callable
        Return the inputs and targets of a table by its name.
    read_images : callable
        Return the images and labels of an image set by its name.
    weights_path : callable
        Return the path of a file of pretrained weights by its name.
    metrics : mapping of str to callable
        Metrics that the configuration adds to those of the experiment.
    progress : Progress
        Reports the progress of long loops.
    checkpoint : Checkpoint or None
        Saves the state of the fit if the job is interrupted.
    cache : Cache
        Results that cells of one job share.
    workspace : Workspace
        Files with the state of unfinished work that several cells share.
    companions : sequence of (Cell, type)
        The cells that the job computes, this one among them, and the classes of their algorithms.
    device : {"cpu", "cuda"}
        Device on which networks are trained.
    """

    algorithm: Any
    read_table: Callable[[str], tuple[Array, Array]] = _no_tables
    read_images: Callable[[str], ImageData] = _no_images
    weights_path: Callable[[str], Path] = _no_weights
    metrics: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    progress: Progress = field(default_factory=SilentProgress)
    checkpoint: Checkpoint | None = None
    cache: Cache = field(default_factory=Cache)
    workspace: Workspace = field(default_factory=NoWorkspace)
    companions: Sequence[tuple[Cell, Any]] = ()
    device: str = "cpu"
