"""What a long fit says of itself, by a clock that goes as the test says."""

from __future__ import annotations

import logging
from itertools import count

import pytest

from onlinefa.progress import Pace, about, paced


@pytest.fixture
def said(caplog):
    caplog.set_level(logging.INFO, "onlinefa")
    return lambda: caplog.messages


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_a_line_every_ten_seconds_says_how_far_and_how_long(said):
    clock = Clock()
    pace = Pace(100_000, "observations", clock)
    with about("algorithm online_em, seed 3"):
        for thousand in range(1, 101):
            clock.now += 0.3
            pace.reach(1000 * thousand)
    # After 34 and 68 steps of 0.3 s ten seconds have passed, and would have again after 102.
    assert said() == [
        "algorithm online_em, seed 3: 34,000 of 100,000 observations, 10 s, about 20 s left",
        "algorithm online_em, seed 3: 68,000 of 100,000 observations, 20 s, about 10 s left",
    ]


def test_a_short_loop_says_nothing(said):
    pace = Pace(10, "epochs", clock := Clock())
    for done in range(1, 11):
        clock.now += 0.99
        pace.reach(done)
    assert said() == []


def test_the_end_is_not_worth_a_line(said):
    pace = Pace(2, "epochs", clock := Clock())
    clock.now += 50
    pace.reach(2)
    assert said() == []


def test_what_an_earlier_attempt_has_done_is_no_measure_of_speed(said):
    pace = Pace(1000, "observations", clock := Clock())
    pace.skip(600)
    clock.now += 20
    pace.reach(700)  # a hundred in 20 s, and 300 are left
    assert said() == ["700 of 1,000 observations, 20 s, about 60 s left"]


def test_a_paced_loop_has_all_its_items_in_order(said):
    seconds = count(step=6)  # one look at the clock before, and one after each item
    assert list(paced("abcd", "letters", lambda: next(seconds))) == list("abcd")
    assert said() == ["2 of 4 letters, 12 s, about 12 s left"]


def test_what_lines_are_about_ends_with_the_fit(said):
    clock = Clock()
    with pytest.raises(ValueError, match="bad luck"), about("one cell"):
        raise ValueError("bad luck")
    pace = Pace(4, "epochs", clock)
    clock.now += 10
    pace.reach(1)
    assert said() == ["1 of 4 epochs, 10 s, about 30 s left"]
