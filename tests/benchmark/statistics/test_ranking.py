"""Tests of ranks and of their significance, by hand and against published numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from onlinefa_benchmark.statistics.ranking import Ranking, critical_difference, rank


@pytest.mark.parametrize(
    ("algorithms", "q"),
    [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (10, 3.164)],
)
def test_critical_differences_equal_those_of_demsar(algorithms, q):
    # Table 5 of Demsar 2006; his example has 4 algorithms, 14 datasets and the difference 1.25.
    for blocks in (2, 14, 30):
        expected = q * np.sqrt(algorithms * (algorithms + 1) / (6 * blocks))
        assert critical_difference(algorithms, blocks) == pytest.approx(expected, rel=3e-4)
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)


def test_cliques_are_the_largest_groups_within_the_critical_difference():
    # The critical difference of 4 algorithms and 14 blocks is 1.25.
    ranks = pd.Series({"a": 1.2, "b": 2.0, "c": 2.9, "d": 3.9})
    assert Ranking(ranks, 14, "datasets", p=0.01).cliques == [["a", "b"], ["b", "c"], ["c", "d"]]
    assert Ranking(ranks, 14, "datasets", p=0.3).cliques == [["a", "b", "c", "d"]]
    apart = pd.Series({"a": 1.0, "b": 1.1, "c": 1.2, "d": 4.0})
    assert Ranking(apart, 14, "datasets", p=0.01).cliques == [["a", "b", "c"]]


def test_friedmans_test_by_hand():
    # Three blocks that agree: 12 / (N k (k + 1)) sum R^2 - 3 N (k + 1) = 6, whose tail is exp(-3).
    agree = rank(pd.DataFrame({"b": [2.0, 5, 2], "a": [1.0, 4, 1], "c": [3.0, 6, 3]}))
    assert agree.ranks.to_dict() == {"a": 1, "b": 2, "c": 3}
    assert agree.p == pytest.approx(np.exp(-3))
    assert rank(pd.DataFrame(np.ones((3, 3)))).p == 1
    alone = rank(pd.DataFrame({"a": [1.0], "b": [2.0], "c": [3.0]}))
    assert not alone.is_tested and np.isnan(alone.p) and np.isnan(alone.critical_difference)
