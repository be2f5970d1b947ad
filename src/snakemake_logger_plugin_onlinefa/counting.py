"""How many cells of a run are done, running and failed, and how long the others will take.

Time left is what remains divided by how fast the run has been, both in seconds of fitting. What a
cell will take is the guess that cells are bundled by, times how wrong that guess has been in this
run so far. Cells that were there before count as done, and for nothing else.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from onlinefa.cell import Bundle, Cell
from onlinefa.cost import seconds_of

State = Literal["waiting", "running", "done", "failed"]
IsThere = Callable[[Cell], bool]
"""Whether a cell's result is in the store."""

# The first cell of a process compiles what later ones find compiled: nothing follows from it alone.
_TOO_SOON = 15


@dataclass(frozen=True)
class Counts:
    """Of the cells of a run."""

    total: int
    done: int
    running: int
    failed: int


@dataclass
class Fit:
    """One cell of a run."""

    cell: Cell
    guess: float
    """Seconds."""
    state: State = "waiting"
    together: int = 1
    """Cells that are fitted at once, this one among them."""
    began: float = 0.0
    seconds: float = 0.0
    """That it took; its share, of several at once. None if it was there already."""

    @property
    def kinds(self) -> tuple[tuple[str, ...], ...]:
        """Whose cells the guess may be wrong for in the same way, from the likeliest on."""
        return (self.cell.experiment, self.cell.algorithm), (self.cell.experiment,), ()

    def elapsed(self, now: float) -> float:
        return (now - self.began) / self.together


class Fits:
    """The cells of all jobs of a run, by job and by what their log calls them."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._jobs: dict[str, dict[str, Fit]] = {}
        self._first: float | None = None

    def expect(self, bundle: Bundle, is_there: IsThere) -> None:
        """A job of this run."""
        guesses = [seconds_of(bundle.experiment, group) for group in bundle.groups]
        self._jobs[bundle.name] = {
            str(cell): Fit(
                cell, guesses[number % len(guesses)], "done" if is_there(cell) else "waiting"
            )
            for number, cell in enumerate(bundle.cells())
        }

    def knows(self, job: str) -> bool:
        return job in self._jobs

    def started(self, job: str) -> None:
        """Perhaps not for the first time: what has failed is tried again."""
        for fit in self._in("failed", job):
            fit.state = "waiting"

    def fitting(self, job: str, names: Iterable[str]) -> None:
        """A job does one thing at a time: what it was at before and has not finished, is lost."""
        now = self._clock()
        self._first = now if self._first is None else self._first
        self._lose(self._in("running", job))
        begun = self._named(job, names)
        for fit in begun:
            fit.state, fit.began, fit.together = "running", now, len(begun)

    def done(self, job: str, names: Iterable[str], seconds: float) -> None:
        finished = self._named(job, names)
        for fit in finished:
            fit.state, fit.seconds = "done", seconds / len(finished)

    def failed(self, job: str, names: Iterable[str]) -> None:
        self._lose(self._named(job, names))

    def ended(self, job: str, is_there: IsThere) -> None:
        """Whatever the log has said, or not yet: what has no result has failed."""
        unsettled = [fit for fit in self._jobs[job].values() if fit.state != "done"]
        for fit in unsettled:
            if is_there(fit.cell):
                fit.state = "done"
        self._lose(fit for fit in unsettled if fit.state != "done")

    def stop(self) -> None:
        """Nothing is being fitted any more."""
        for fit in self._all():
            if fit.state == "running":
                fit.state = "waiting"
        self._first = None

    def counts(self) -> Counts:
        states = Counter(fit.state for fit in self._all())
        return Counts(states.total(), states["done"], states["running"], states["failed"])

    def seconds_left(self) -> float | None:
        """None while nobody can tell, or when nothing is left."""
        now = self._clock()
        if self._first is None or now - self._first < _TOO_SOON:
            return None
        errors = self._errors()
        if not errors:
            return None
        work, left, longest = 0.0, 0.0, 0.0
        for fits in self._jobs.values():
            left_of_job = 0.0
            for fit in fits.values():
                spent, still = _spent_and_left(fit, now, errors)
                work += spent
                left_of_job += still
            left += left_of_job
            longest = max(longest, left_of_job)
        if left == 0:
            return None
        speed = work / (now - self._first)
        # A job's cells come one after the other, however many cores are idle by then.
        return max(left / speed, longest)

    def _errors(self) -> Mapping[tuple[str, ...], float]:
        """By kind of cells: how many times the guess they have taken."""
        taken: defaultdict[tuple[str, ...], float] = defaultdict(float)
        guessed: defaultdict[tuple[str, ...], float] = defaultdict(float)
        for fit in self._all():
            if fit.state == "done" and fit.seconds > 0:
                for kind in fit.kinds:
                    taken[kind] += fit.seconds
                    guessed[kind] += fit.guess
        return {kind: taken[kind] / guessed[kind] for kind in taken}

    def _lose(self, fits: Iterable[Fit]) -> None:
        now = self._clock()
        for fit in fits:
            if fit.state == "running":
                fit.seconds = fit.elapsed(now)
            fit.state = "failed"

    def _in(self, state: State, job: str) -> list[Fit]:
        return [fit for fit in self._jobs[job].values() if fit.state == state]

    def _named(self, job: str, names: Iterable[str]) -> list[Fit]:
        return [self._jobs[job][name] for name in names if name in self._jobs[job]]

    def _all(self) -> Iterator[Fit]:
        return (fit for fits in self._jobs.values() for fit in fits.values())


def _spent_and_left(
    fit: Fit, now: float, errors: Mapping[tuple[str, ...], float]
) -> tuple[float, float]:
    """Seconds of fitting: those that a cell has had in this run, and those that it still needs."""
    if fit.state in ("done", "failed"):
        return fit.seconds, 0.0
    expected = fit.guess * next(errors[kind] for kind in fit.kinds if kind in errors)
    spent = min(fit.elapsed(now), expected) if fit.state == "running" else 0.0
    return spent, expected - spent
