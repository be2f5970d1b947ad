"""Tests of the loop that feeds observations to an estimator."""

from __future__ import annotations

import numpy as np
import pytest

from onlinefa import Diagonal
from onlinefa_benchmark.context import Context
from onlinefa_benchmark.experiments._tracking import Trial, track


class StopAfter:
    """A checkpoint that asks to stop after a number of blocks, and resumes from what it saved."""

    class Stopped(Exception):
        pass

    def __init__(self, blocks):
        self.left = blocks
        self.saved = None

    @property
    def is_stop_requested(self):
        self.left -= 1
        return self.left == 0

    def resume(self, estimator):
        if self.saved is None:
            return None
        state, values = self.saved
        estimator.__dict__.update(state)
        return values

    def stop(self, estimator, values):
        self.saved = (dict(estimator.__dict__), values)
        raise self.Stopped


def make_trial(restarts):
    """Return a trial of two steps, whose rows are around 0 and around 10, in two blocks each."""
    blocks = {1: [[0.0, 2.0], [1.0, 5.0]], 2: [[10.0, 12.0], [11.0, 15.0]]}

    def stream(step):
        return (np.array([[value] * 2 for value in block]) for block in blocks[step])

    def measure(step, estimate):
        return {("mean", ()): float(estimate.mean[0])}

    random = np.random.default_rng(0)
    metrics = [("mean", ())]
    return Trial(2, [1, 2], stream, measure, lambda step: metrics, random, random, "", restarts)


def means(restarts, checkpoint=None):
    context = Context(algorithm=Diagonal, checkpoint=checkpoint)
    found = track(Diagonal(), make_trial(restarts), context)
    return [measurement.value for measurement in found]


@pytest.mark.parametrize(("restarts", "expected"), [(False, [2.0, 7.0]), (True, [2.0, 12.0])])
def test_an_estimator_is_renewed_at_each_step_if_the_trial_says_so(restarts, expected):
    assert means(restarts) == expected


@pytest.mark.parametrize("blocks", [1, 2, 3, 4])
@pytest.mark.parametrize("restarts", [False, True])
def test_a_continued_fit_equals_an_uninterrupted_one(restarts, blocks):
    checkpoint = StopAfter(blocks)
    with pytest.raises(StopAfter.Stopped):
        means(restarts, checkpoint)
    checkpoint.left = 0
    assert means(restarts, checkpoint) == means(restarts)
