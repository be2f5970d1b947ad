"""What a run has done so far, from what Snakemake says of jobs and what their logs say of cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from logging import LogRecord
from pathlib import Path

from snakemake_interface_logger_plugins.common import LogEvent

from onlinefa.cell import Bundle
from onlinefa.results import Store
from snakemake_logger_plugin_onlinefa.counting import Counts, Fits
from snakemake_logger_plugin_onlinefa.logs import Log, follow

_INTERRUPTED = "Terminating processes on user request"  # jobs then end, but have not failed
_MOST_NAMES = 3  # of rules that are running


@dataclass(frozen=True)
class Row:
    """One kind of work, as it is shown."""

    name: str
    settled: int
    """Done or failed."""
    total: int
    told: str
    """Its numbers, in words."""
    left: str = ""
    """The time left, in words."""


class Run:
    """The cells and the other jobs of one run of Snakemake."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._fits = Fits(clock)
        self._fit_jobs = 0
        self._store = Store(Path())
        self._logs: dict[int, tuple[str, Log]] = {}
        self._jobs = 0
        self._done = 0
        self._running: dict[int, str] = {}
        self._failed: set[int] = set()
        self._has_begun = False
        self._is_interrupted = False

    def note(self, record: LogRecord) -> None:
        """What Snakemake has to say, or the workflow, of the cells that its jobs will fit."""
        # Attributes that a record has are those that whoever logged it has given to it.
        told = vars(record)
        match told.get("event"):
            case LogEvent.RUN_INFO:
                self._jobs = told["stats"]["total"]
            case LogEvent.JOB_INFO:
                self._start(told["jobid"], told["rule_name"], told["wildcards"], told["log"])
            case LogEvent.JOB_FINISHED:
                self._end(told["job_id"], succeeded=True)
            case LogEvent.JOB_ERROR if not self._is_interrupted:
                self._end(told["jobid"], succeeded=False)
            case None if record.getMessage().startswith(_INTERRUPTED):
                self._is_interrupted = True
            case None if "bundles" in told:
                self._expect(told["bundles"], Path(told["store"]))

    def look(self) -> None:
        """At the logs of the jobs that are running."""
        for job, log in self._logs.values():
            follow(log, job, self._fits)

    def stop(self) -> None:
        """Nothing is running any more, whether or not it came to an end."""
        self._fits.stop()
        self._logs.clear()
        self._running.clear()

    def rows(self) -> Iterator[Row]:
        """None before the first job: until then it is not known what the jobs are."""
        if not self._has_begun:
            return
        counts = self._fits.counts()
        if counts.total:
            left = self._fits.seconds_left()
            words = "" if left is None else f"about {duration(left)} left"
            settled = counts.done + counts.failed
            yield Row("fits", settled, counts.total, _of_cells(counts), words)
        others = self._jobs - self._fit_jobs
        if others:
            settled = self._done + len(self._failed)
            yield Row("other jobs" if counts.total else "jobs", settled, others, self._of_others())

    def _expect(self, bundles: Iterable[Bundle], store: Path) -> None:
        self._store = Store(store)
        # One look at the folder: a cluster's file system takes long to be asked for every cell.
        found = {path.stem for path in store.glob("*/*.parquet")}
        for bundle in bundles:
            self._fits.expect(bundle, lambda cell: bool(found) and cell.digest() in found)
            self._fit_jobs += 1

    def _start(self, number: int, rule: str, wildcards: dict[str, str], log: list[str]) -> None:
        self._has_begun = True
        job = wildcards.get("bundle", "")
        if self._fits.knows(job):
            self._fits.started(job)
            self._logs[number] = job, Log(Path(log[0]))
        else:
            self._failed.discard(number)
            self._running[number] = rule

    def _end(self, number: int, succeeded: bool) -> None:
        if number in self._logs:
            job, log = self._logs.pop(number)
            follow(log, job, self._fits)
            self._fits.ended(job, lambda cell: self._store.path(cell.digest()).exists())
        elif self._running.pop(number, None) is not None:
            if succeeded:
                self._done += 1
            else:
                self._failed.add(number)

    def _of_others(self) -> str:
        words = [f"{self._done}/{self._jobs - self._fit_jobs}"]
        rules = list(Counter(self._running.values()))
        if 0 < len(rules) <= _MOST_NAMES:
            words.append(f"{' and '.join(rules)} running")
        elif rules:
            words.append(f"{len(self._running)} running")
        return ", ".join(words + [f"{len(self._failed)} failed"] * bool(self._failed))


def _of_cells(counts: Counts) -> str:
    words = [f"{counts.done}/{counts.total} cells"]
    words += [f"{counts.running} running"] * bool(counts.running)
    words += [f"{counts.failed} failed"] * bool(counts.failed)
    return ", ".join(words)


def duration(seconds: float) -> str:
    """In words, and no more exact than an estimate is."""
    if seconds < 57.5:
        return f"{max(5, 5 * round(seconds / 5))} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(10 * round(minutes / 10), 60)
    return f"{hours} h {minutes} min" if 0 < hours < 10 and minutes else f"{hours} h"
