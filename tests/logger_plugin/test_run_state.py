"""Tests of the state of a run, from Snakemake's messages and the events of fit jobs."""

from __future__ import annotations

import os

import pytest
from snakemake_interface_logger_plugins.common import LogEvent
from support.small_jobs import FakeFits, fit
from support.snakemake_messages import Clock, bundle, error, finished, record, starting

from onlinefa_benchmark.execution.events import EventFile
from onlinefa_benchmark.storage.store import Store
from snakemake_logger_plugin_onlinefa.run_state import RunState, format_duration


@pytest.fixture
def fitted(tmp_path, monkeypatch):
    """Return a job whose second cell has failed, the file of its events, and its store."""
    FakeFits(monkeypatch).error = ValueError("boom")
    job, events = bundle(seeds=3), tmp_path / "events.jsonl"
    fit(job, tmp_path, events=EventFile(events))
    return job, events, Store(tmp_path / "store")


def texts(run):
    return [f"{row.name} {row.text}" for row in run.rows()]


def test_cells_and_other_jobs_are_counted(fitted, tmp_path):
    job, events, store = fitted
    run = RunState(Clock())
    run.note(record(LogEvent.RUN_INFO, stats={"fit": 1, "figures": 1, "all": 1, "total": 3}))
    assert texts(run) == []
    run.note(record(bundles=[job], store=str(tmp_path / "later")))
    run.note(starting(1, "fit", tmp_path / "log", events, bundle=job.name))
    assert texts(run) == ["fits 0/3 cells", "other jobs 0/2"]
    run.update()
    assert texts(run)[0] == "fits 0/3 cells"  # the file may belong to an earlier run
    later = events.stat().st_mtime_ns + 1
    os.utime(events, ns=(later, later))
    run.update()
    assert texts(run)[0] == "fits 2/3 cells, 1 failed"
    store.folder.rename(tmp_path / "later")
    run.note(finished(1))
    run.note(starting(2, "figures"))
    assert texts(run) == ["fits 2/3 cells, 1 failed", "other jobs 0/2, figures running"]
    run.note(error(2))
    assert texts(run)[1] == "other jobs 0/2, 1 failed"
    run.note(starting(2, "figures"))
    run.note(finished(2))
    assert texts(run)[1] == "other jobs 1/2"


def test_cells_in_the_store_are_done_from_the_start(fitted, tmp_path):
    job, _, store = fitted
    run = RunState(Clock())
    run.note(record(LogEvent.RUN_INFO, stats={"fit": 1, "total": 1}))
    run.note(record(bundles=[job], store=str(store.folder)))
    run.note(starting(1, "fit", tmp_path / "none.jsonl", bundle=job.name))
    assert texts(run) == ["fits 2/3 cells"]
    run.note(error(1))
    assert texts(run) == ["fits 2/3 cells, 1 failed"]
    run.note(starting(1, "fit", tmp_path / "none.jsonl", bundle=job.name))
    assert texts(run) == ["fits 2/3 cells"]


def test_interrupted_jobs_are_not_counted_as_failed(fitted, tmp_path):
    job, _, store = fitted
    run = RunState(Clock())
    run.note(record(LogEvent.RUN_INFO, stats={"fit": 1, "fetch": 1, "total": 2}))
    run.note(record(bundles=[job], store=str(store.folder)))
    run.note(starting(1, "fit", tmp_path / "none.jsonl", bundle=job.name))
    run.note(starting(2, "fetch"))
    run.note(record(message="Terminating processes on user request, this might take some time."))
    run.note(error(1))
    run.note(error(2))
    run.stop()
    assert texts(run) == ["fits 2/3 cells", "other jobs 0/1"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.1, "5 s"),
        (42, "40 s"),
        (57, "55 s"),
        (58, "1 min"),
        (200, "3 min"),
        (3500, "58 min"),
        (3590, "1 h"),
        (5000, "1 h 20 min"),
        (7200, "2 h"),
        (36_500, "10 h"),
        (200_000, "55 h"),
    ],
)
def test_durations_are_rounded(seconds, text):
    assert format_duration(seconds) == text
