"""Counts of the cells of a run that are done, running and failed, and the estimated time left.

The time left is the remaining work divided by the speed of the run so far. Work is measured in
seconds of fitting. The work of a cell is the experiment's own estimate, times the ratio of measured
to estimated seconds of similar cells in this run. Cells that were in the store before the run count
as done, but not for the speed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from onlinefa_benchmark import experiments
from onlinefa_benchmark.cells import Bundle, Cell

State = Literal["waiting", "running", "done", "failed"]
IsInStore = Callable[[Cell], bool]

# The first cell of a process compiles code that later ones reuse, so that the first seconds are not
# representative.
_TOO_SOON = 15


@dataclass(frozen=True)
class Counts:
    """Numbers of cells of a run."""

    total: int
    done: int
    running: int
    failed: int


@dataclass
class Fit:
    """One cell of a run.

    Parameters
    ----------
    cell : Cell
        The cell.
    estimate : float
        Estimated seconds.
    state : str
        Whether it waits, runs, is done or has failed.
    batch : int
        Number of cells that are fitted at once, including this one.
    began : float
        When the fit began.
    seconds : float
        Seconds that it took, or its share; zero if it was in the store.
    """

    cell: Cell
    estimate: float
    state: State = "waiting"
    batch: int = 1
    began: float = 0.0
    seconds: float = 0.0

    @property
    def kinds(self) -> tuple[tuple[str, ...], ...]:
        """Kinds of cells whose estimates may be wrong in the same way, the most alike first."""
        return (self.cell.experiment, self.cell.algorithm), (self.cell.experiment,), ()

    def elapsed(self, now: float) -> float:
        """Return its share of the seconds since the fit began."""
        return (now - self.began) / self.batch


class CellCounts:
    """The cells of all jobs of a run, by job and by name.

    Parameters
    ----------
    clock : callable
        Return the time in seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._jobs: dict[str, dict[str, Fit]] = {}
        self._first: float | None = None

    def add_job(self, bundle: Bundle, is_in_store: IsInStore) -> None:
        """Add a job of this run."""
        experiment = experiments.load(bundle.experiment)
        estimates = [experiment.estimate_seconds(group) for group in bundle.groups]
        self._jobs[bundle.name] = {
            str(cell): Fit(
                cell,
                estimates[number % len(estimates)],
                "done" if is_in_store(cell) else "waiting",
            )
            for number, cell in enumerate(bundle.cells())
        }

    def has_job(self, job: str) -> bool:
        """Return whether a job is one of this run."""
        return job in self._jobs

    def start_job(self, job: str) -> None:
        """Record the start of a job, perhaps of another attempt: failed cells are tried again."""
        for fit in self._in_state("failed", job):
            fit.state = "waiting"

    def start_cells(self, job: str, names: Iterable[str]) -> None:
        """Record the start of cells; cells that the job was fitting until then have failed."""
        now = self._clock()
        self._first = now if self._first is None else self._first
        self._fail(self._in_state("running", job))
        begun = self._named(job, names)
        for fit in begun:
            fit.state, fit.began, fit.batch = "running", now, len(begun)

    def finish_cells(self, job: str, names: Iterable[str], seconds: float) -> None:
        """Record that cells are finished, and the seconds that they took together."""
        finished = self._named(job, names)
        for fit in finished:
            fit.state, fit.seconds = "done", seconds / len(finished)

    def fail_cells(self, job: str, names: Iterable[str]) -> None:
        """Record that cells have failed."""
        self._fail(self._named(job, names))

    def end_job(self, job: str, is_in_store: IsInStore) -> None:
        """Record the end of a job: cells without a result have failed."""
        unsettled = [fit for fit in self._jobs[job].values() if fit.state != "done"]
        for fit in unsettled:
            if is_in_store(fit.cell):
                fit.state = "done"
        self._fail(fit for fit in unsettled if fit.state != "done")

    def stop(self) -> None:
        """Record the end of the run: no cell is being fitted."""
        for fit in self._all():
            if fit.state == "running":
                fit.state = "waiting"
        self._first = None

    def counts(self) -> Counts:
        """Return the numbers of cells."""
        states = Counter(fit.state for fit in self._all())
        return Counts(states.total(), states["done"], states["running"], states["failed"])

    def seconds_left(self) -> float | None:
        """Return the estimated time left; None while it is unknown, or if nothing is left."""
        now = self._clock()
        if self._first is None or now - self._first < _TOO_SOON:
            return None
        corrections = self._corrections()
        if not corrections:
            return None
        work, left, longest = 0.0, 0.0, 0.0
        for fits in self._jobs.values():
            left_of_job = 0.0
            for fit in fits.values():
                spent, still = _spent_and_left(fit, now, corrections)
                work += spent
                left_of_job += still
            left += left_of_job
            longest = max(longest, left_of_job)
        if left == 0:
            return None
        speed = work / (now - self._first)
        # The cells of a job are fitted one after the other, even if other cores are idle.
        return max(left / speed, longest)

    def _corrections(self) -> Mapping[tuple[str, ...], float]:
        """Return, by kind of cells, the ratio of measured to estimated seconds."""
        taken: defaultdict[tuple[str, ...], float] = defaultdict(float)
        estimated: defaultdict[tuple[str, ...], float] = defaultdict(float)
        for fit in self._all():
            if fit.state == "done" and fit.seconds > 0:
                for kind in fit.kinds:
                    taken[kind] += fit.seconds
                    estimated[kind] += fit.estimate
        return {kind: taken[kind] / estimated[kind] for kind in taken}

    def _fail(self, fits: Iterable[Fit]) -> None:
        now = self._clock()
        for fit in fits:
            if fit.state == "running":
                fit.seconds = fit.elapsed(now)
            fit.state = "failed"

    def _in_state(self, state: State, job: str) -> list[Fit]:
        return [fit for fit in self._jobs[job].values() if fit.state == state]

    def _named(self, job: str, names: Iterable[str]) -> list[Fit]:
        return [self._jobs[job][name] for name in names if name in self._jobs[job]]

    def _all(self) -> Iterator[Fit]:
        return (fit for fits in self._jobs.values() for fit in fits.values())


def _spent_and_left(
    fit: Fit, now: float, corrections: Mapping[tuple[str, ...], float]
) -> tuple[float, float]:
    """Return the seconds of fitting that a cell has had in this run, and those that it needs."""
    if fit.state in ("done", "failed"):
        return fit.seconds, 0.0
    correction = next(corrections[kind] for kind in fit.kinds if kind in corrections)
    expected = fit.estimate * correction
    spent = min(fit.elapsed(now), expected) if fit.state == "running" else 0.0
    return spent, expected - spent
