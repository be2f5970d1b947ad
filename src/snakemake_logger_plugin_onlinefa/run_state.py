"""The state of a run, from Snakemake's messages about jobs and the events of fit jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from logging import LogRecord
from pathlib import Path

from snakemake_interface_logger_plugins.common import LogEvent

from onlinefa_benchmark.cells import Bundle
from onlinefa_benchmark.storage.store import Store
from snakemake_logger_plugin_onlinefa.cell_counts import CellCounts, Counts
from snakemake_logger_plugin_onlinefa.event_log import EventLog, follow

# After this message jobs end, but have not failed.
_INTERRUPTED = "Terminating processes on user request"
_MOST_NAMES = 3  # of running rules that are named


@dataclass(frozen=True)
class Row:
    """One kind of work, as it is shown.

    Parameters
    ----------
    name : str
        Name of the kind.
    settled : int
        Number of units that are done or have failed.
    total : int
        Number of all units.
    text : str
        The numbers, in words.
    time_left : str
        The time left, in words.
    """

    name: str
    settled: int
    total: int
    text: str
    time_left: str = ""


class RunState:
    """The cells and the other jobs of one run of Snakemake.

    Parameters
    ----------
    clock : callable
        Return the time in seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._cells = CellCounts(clock)
        self._fit_jobs = 0
        self._store = Store(Path())
        self._logs: dict[int, tuple[str, EventLog]] = {}
        self._jobs = 0
        self._done = 0
        self._running: dict[int, str] = {}
        self._failed: set[int] = set()
        self._has_begun = False
        self._is_interrupted = False

    def note(self, record: LogRecord) -> None:
        """Update the state from a message of Snakemake, or of the workflow about its cells."""
        # The attributes of a record are those that the caller of the logger has given.
        given = vars(record)
        match given.get("event"):
            case LogEvent.RUN_INFO:
                self._jobs = given["stats"]["total"]
            case LogEvent.JOB_INFO:
                self._start(given["jobid"], given["rule_name"], given["wildcards"], given["log"])
            case LogEvent.JOB_FINISHED:
                self._end(given["job_id"], succeeded=True)
            case LogEvent.JOB_ERROR if not self._is_interrupted:
                self._end(given["jobid"], succeeded=False)
            case None if record.getMessage().startswith(_INTERRUPTED):
                self._is_interrupted = True
            case None if "bundles" in given:
                self._expect(given["bundles"], Path(given["store"]))

    def update(self) -> None:
        """Read the new events of the running jobs."""
        for job, log in self._logs.values():
            follow(log, job, self._cells)

    def stop(self) -> None:
        """Record the end of the run: nothing is running."""
        self._cells.stop()
        self._logs.clear()
        self._running.clear()

    def rows(self) -> Iterator[Row]:
        """Yield what is shown; nothing before the first job, when the jobs are not known yet."""
        if not self._has_begun:
            return
        counts = self._cells.counts()
        if counts.total:
            left = self._cells.seconds_left()
            words = "" if left is None else f"about {format_duration(left)} left"
            settled = counts.done + counts.failed
            yield Row("fits", settled, counts.total, _format_counts(counts), words)
        others = self._jobs - self._fit_jobs
        if others:
            settled = self._done + len(self._failed)
            name = "other jobs" if counts.total else "jobs"
            yield Row(name, settled, others, self._format_others())

    def _expect(self, bundles: Iterable[Bundle], store: Path) -> None:
        self._store = Store(store)
        # The folder is listed once: a query for each cell is slow on a cluster's file system.
        found = {path.stem for path in store.glob("*/*.parquet")}
        for bundle in bundles:
            self._cells.add_job(bundle, lambda cell: bool(found) and cell.digest() in found)
            self._fit_jobs += 1

    def _start(self, number: int, rule: str, wildcards: dict[str, str], logs: list[str]) -> None:
        self._has_begun = True
        job = wildcards.get("bundle", "")
        events = [path for path in logs if path.endswith(".jsonl")]
        if self._cells.has_job(job) and events:
            self._cells.start_job(job)
            self._logs[number] = job, EventLog(Path(events[0]))
        else:
            self._failed.discard(number)
            self._running[number] = rule

    def _end(self, number: int, succeeded: bool) -> None:
        if number in self._logs:
            job, log = self._logs.pop(number)
            follow(log, job, self._cells)
            self._cells.end_job(job, lambda cell: self._store.path(cell.digest()).exists())
        elif self._running.pop(number, None) is not None:
            if succeeded:
                self._done += 1
            else:
                self._failed.add(number)

    def _format_others(self) -> str:
        words = [f"{self._done}/{self._jobs - self._fit_jobs}"]
        rules = list(Counter(self._running.values()))
        if 0 < len(rules) <= _MOST_NAMES:
            words.append(f"{' and '.join(rules)} running")
        elif rules:
            words.append(f"{len(self._running)} running")
        return ", ".join(words + [f"{len(self._failed)} failed"] * bool(self._failed))


def _format_counts(counts: Counts) -> str:
    words = [f"{counts.done}/{counts.total} cells"]
    words += [f"{counts.running} running"] * bool(counts.running)
    words += [f"{counts.failed} failed"] * bool(counts.failed)
    return ", ".join(words)


def format_duration(seconds: float) -> str:
    """Return a duration in words, with the precision of an estimate."""
    if seconds < 57.5:
        return f"{max(5, 5 * round(seconds / 5))} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(10 * round(minutes / 10), 60)
    return f"{hours} h {minutes} min" if 0 < hours < 10 and minutes else f"{hours} h"
