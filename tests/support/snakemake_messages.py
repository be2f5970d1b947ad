"""Jobs, a clock and messages of Snakemake, for tests of the logger plugin."""

from __future__ import annotations

import logging

from snakemake_interface_logger_plugins.common import LogEvent

from onlinefa_benchmark.cells import Bundle, Group
from snakemake_logger_plugin_onlinefa.cell_counts import CellCounts


class Clock:
    """A clock that a test sets."""

    now = 1000.0

    def __call__(self):
        return self.now


def bundle(algorithm="diagonal", seeds=4, D=10, T=1000):
    """Return a job with one group of cells."""
    axes = {"algorithm": algorithm, "D": D, "K": 2, "spectrum": "1-10"}
    group = Group(axes, {"dataset": "algorithm_3", "T": [T], "settings": {}})
    outer = {name: axes[name] for name in ("algorithm", "D", "K")}
    return Bundle("synthetic", outer, (group,), tuple(range(seeds)))


def names(job):
    """Return the names of a job's cells."""
    return [str(cell) for cell in job.cells()]


def counts_of(clock, *jobs, is_in_store=lambda cell: False):
    """Return the counts of a run with some jobs."""
    counts = CellCounts(clock)
    for job in jobs:
        counts.add_job(job, is_in_store)
    return counts


def record(event=None, level=logging.INFO, message="None", **attributes):
    """Return a message of Snakemake."""
    made = logging.LogRecord("snakemake", level, "", 0, message, None, None)
    vars(made).update(attributes | ({"event": event} if event else {}))
    return made


def starting(number, rule, *logs, **wildcards):
    """Return Snakemake's message about a job that starts."""
    return record(
        LogEvent.JOB_INFO,
        jobid=number,
        rule_name=rule,
        wildcards=wildcards,
        log=[str(log) for log in logs],
    )


def finished(number):
    """Return Snakemake's message about a job that has succeeded."""
    return record(LogEvent.JOB_FINISHED, job_id=number)


def error(number, **attributes):
    """Return Snakemake's message about a job that has failed."""
    return record(LogEvent.JOB_ERROR, logging.ERROR, jobid=number, **attributes)
