"""Tests of reading the events of a fit job while it runs."""

from __future__ import annotations

import json

import pytest
from support.small_jobs import FakeFits, fit
from support.snakemake_messages import Clock, bundle, counts_of, names

from onlinefa_benchmark.execution.events import EventFile
from snakemake_logger_plugin_onlinefa.cell_counts import Counts
from snakemake_logger_plugin_onlinefa.event_log import EventLog, follow


def line(name):
    return json.dumps({"name": name}) + "\n"


def new_names(log):
    return [event["name"] for event in log.events()]


def test_only_new_lines_are_read(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text(line("of an earlier run"))
    log = EventLog(path)
    assert new_names(log) == []
    half = len(line("three")) // 2
    path.write_text(line("one") + line("two") + line("three")[:half])
    assert new_names(log) == ["one", "two"]
    with path.open("a") as file:
        file.write(line("three")[half:] + line("four"))
    assert new_names(log) == ["three", "four"]
    assert new_names(log) == []
    path.write_text(line("anew"))
    assert new_names(log) == ["anew"]


def test_a_file_of_an_earlier_run_is_ignored_until_it_changes(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text(line("old") * 3)
    log = EventLog(path)
    assert new_names(log) == []
    EventFile(path)  # a job first deletes the events of earlier runs
    assert new_names(log) == []
    with path.open("a") as file:
        file.write(line("new"))
    assert new_names(log) == ["new"]


def test_a_file_can_be_created_after_the_log_is_opened(tmp_path):
    log = EventLog(tmp_path / "events.jsonl")
    assert new_names(log) == []
    (tmp_path / "events.jsonl").write_text(line("one"))
    assert new_names(log) == ["one"]


@pytest.mark.parametrize("damaged", ["", "no JSON", "[1, 2]", '"text"', "\x00", '{"name": '])
def test_a_line_that_is_not_an_event_is_skipped(tmp_path, damaged):
    path = tmp_path / "events.jsonl"
    log = EventLog(path)
    path.write_text(f"{line('one')}{damaged}\n{line('two')}")
    assert new_names(log) == ["one", "two"]


def test_events_with_unknown_names_or_cells_are_ignored(tmp_path):
    job, path = bundle(seeds=2), tmp_path / "events.jsonl"
    counts, log = counts_of(Clock(), job), EventLog(path)
    events = [
        {"name": "paused", "cells": names(job)},
        {"name": "started", "cells": ["another cell"]},
        {"name": "finished", "cells": ["another cell"], "seconds": 3.0},
        {"cells": names(job)},
    ]
    path.write_text("".join(f"{json.dumps(event)}\n" for event in events))
    follow(log, job.name, counts)
    assert counts.counts() == Counts(total=2, done=0, running=0, failed=0)


def test_cells_are_counted_from_the_events_of_a_real_job(monkeypatch, tmp_path):
    FakeFits(monkeypatch).error = ValueError("boom")
    job, written, copied = bundle(seeds=3), tmp_path / "written.jsonl", tmp_path / "copied.jsonl"
    fit(job, tmp_path, events=EventFile(written))
    counts, log = counts_of(Clock(), job), EventLog(copied)
    seen = []
    with copied.open("w") as copy:
        for event in written.read_text().splitlines(keepends=True):
            copy.write(event)
            copy.flush()
            follow(log, job.name, counts)
            now = counts.counts()
            seen.append((now.done, now.running, now.failed))
    assert seen == [(0, 1, 0), (1, 0, 0), (1, 1, 0), (1, 0, 1), (1, 1, 1), (2, 0, 1)]
