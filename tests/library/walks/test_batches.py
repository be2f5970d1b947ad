"""Tests of how batches are drawn."""

from __future__ import annotations

import numpy as np
import pytest

from onlinefa.walks.batches import make_sampler


def draw(sampling, number, n_rows=10, size=4):
    return make_sampler(sampling, n_rows, size, np.random.default_rng(0)).draw(number)


def test_an_epoch_of_reshuffled_batches_has_each_row_once():
    batches = list(draw("reshuffled", 6))
    assert [len(rows) for rows in batches] == [4, 4, 2, 4, 4, 2]
    for epoch in (batches[:3], batches[3:]):
        assert sorted(np.concatenate(epoch)) == list(range(10))


def test_reshuffled_batches_do_not_depend_on_how_many_are_drawn_at_once():
    sampler = make_sampler("reshuffled", 10, 4, np.random.default_rng(0))
    pieces = np.concatenate([sampler.draw(n).order for n in (1, 4, 1)])
    np.testing.assert_array_equal(pieces, draw("reshuffled", 6).order)


def test_rows_with_replacement_are_independent():
    batches = draw("replacement", 5000, n_rows=3, size=2)
    first, second = batches.order.reshape(-1, 2).T
    counts = np.bincount(3 * first + second, minlength=9)
    # The standard deviation of a count is 23.6 around 555.6.
    assert np.abs(counts - 5000 / 9).max() < 4 * 23.6


def test_a_full_batch_has_all_rows():
    for rows in draw("full", 2):
        np.testing.assert_array_equal(rows, np.arange(10))


@pytest.mark.parametrize(
    ("sampling", "size", "message"),
    [
        ("random", 4, "sampling must be one of replacement, reshuffled, full, got 'random'"),
        ("replacement", 0, "batch_size must be between 1 and 10, got 0"),
        ("replacement", 11, "batch_size must be between 1 and 10, got 11"),
    ],
)
def test_mistakes_are_one_line(sampling, size, message):
    with pytest.raises(ValueError, match=message):
        draw(sampling, 1, size=size)
