"""Tests of the events of a fit job: one JSON object per line."""

from __future__ import annotations

import json

import pytest
from support.small_jobs import FakeFits, bundle_of, fit

from onlinefa_benchmark.execution.events import EventFile

BUNDLE = bundle_of(0, 1, 2)
NAMES = [str(cell) for cell in BUNDLE.cells()]


@pytest.fixture
def fits(monkeypatch):
    return FakeFits(monkeypatch)


def events_in(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_event_is_a_line_of_json(tmp_path):
    cells, path = BUNDLE.cells(), tmp_path / "folder" / "events.jsonl"
    events = EventFile(path)
    assert path.read_text() == ""
    events.started(cells)
    events.finished(cells[:2], 1.5)
    events.failed(cells[2:])
    assert path.read_text().endswith("\n")
    assert events_in(path) == [
        {"name": "started", "cells": NAMES},
        {"name": "finished", "cells": NAMES[:2], "seconds": 1.5},
        {"name": "failed", "cells": NAMES[2:]},
    ]


def test_events_of_an_earlier_attempt_are_dropped(tmp_path):
    path = tmp_path / "events.jsonl"
    EventFile(path).started(BUNDLE.cells())
    EventFile(path).failed(BUNDLE.cells())
    assert [event["name"] for event in events_in(path)] == ["failed"]


def test_events_of_an_earlier_process_of_the_same_attempt_are_kept(tmp_path):
    path = tmp_path / "events.jsonl"
    EventFile(path).started(BUNDLE.cells())
    EventFile(path, append=True).failed(BUNDLE.cells())
    assert [event["name"] for event in events_in(path)] == ["started", "failed"]


def test_without_a_path_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    EventFile(None).started(BUNDLE.cells())
    assert list(tmp_path.iterdir()) == []


def test_a_job_writes_events_of_its_cells(fits, tmp_path):
    fits.error = RuntimeError("boom")
    path = tmp_path / "events.jsonl"
    fit(BUNDLE, tmp_path, events=EventFile(path))
    found = events_in(path)
    assert [(event["name"], event["cells"]) for event in found] == [
        ("started", NAMES[:1]),
        ("finished", NAMES[:1]),
        ("started", NAMES[1:2]),
        ("failed", NAMES[1:2]),
        ("started", NAMES[2:]),
        ("finished", NAMES[2:]),
    ]
    assert all(event["seconds"] >= 0 for event in found if event["name"] == "finished")


def test_cells_that_are_in_the_store_have_no_events(fits, tmp_path):
    path = tmp_path / "events.jsonl"
    fit(BUNDLE, tmp_path)
    fit(BUNDLE, tmp_path, events=EventFile(path))
    assert events_in(path) == []
