"""Tests of the progress of long fits in the log, with a simulated clock."""

from __future__ import annotations

import logging
from itertools import count

import pytest

from onlinefa_benchmark.execution.progress import LoggedProgress


@pytest.fixture
def lines(caplog):
    caplog.set_level(logging.INFO, "onlinefa_benchmark")
    return lambda: caplog.messages


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def start(total, unit, subject=""):
    clock = Clock()
    return LoggedProgress(subject, clock).start(total, unit), clock


def test_progress_and_time_left_are_logged_every_ten_seconds(lines):
    pace, clock = start(100_000, "observations", "algorithm online_em, seed 3")
    for thousand in range(1, 101):
        clock.now += 0.3
        pace.reach(1000 * thousand)
    # After 34 and 68 steps of 0.3 s ten seconds have passed, and would have again after 102.
    assert lines() == [
        "algorithm online_em, seed 3: 34,000 of 100,000 observations, 10 s, about 20 s left",
        "algorithm online_em, seed 3: 68,000 of 100,000 observations, 20 s, about 10 s left",
    ]


def test_a_short_loop_writes_nothing(lines):
    pace, clock = start(10, "epochs")
    for done in range(1, 11):
        clock.now += 0.99
        pace.reach(done)
    assert lines() == []


def test_the_end_is_not_written(lines):
    pace, clock = start(2, "epochs")
    clock.now += 50
    pace.reach(2)
    assert lines() == []


def test_units_of_an_earlier_attempt_do_not_count_as_speed(lines):
    pace, clock = start(1000, "observations")
    pace.skip(600)
    clock.now += 20
    pace.reach(700)  # a hundred in 20 s, and 300 are left
    assert lines() == ["700 of 1,000 observations, 20 s, about 60 s left"]


def test_a_loop_over_items_yields_all_of_them_in_order(lines):
    seconds = count(step=6)  # the clock is read before the loop and after each item
    progress = LoggedProgress("", lambda: next(seconds))
    assert list(progress.over("abcd", "letters")) == list("abcd")
    assert lines() == ["2 of 4 letters, 12 s, about 12 s left"]


def test_each_fit_is_logged_with_its_own_name(lines):
    clock = Clock()
    one, other = (LoggedProgress(subject, clock).start(4, "epochs") for subject in ("one", ""))
    clock.now += 10
    other.reach(1)
    one.reach(2)
    assert lines() == [
        "1 of 4 epochs, 10 s, about 30 s left",
        "one: 2 of 4 epochs, 10 s, about 10 s left",
    ]
