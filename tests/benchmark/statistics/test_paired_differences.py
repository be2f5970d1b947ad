"""Tests of paired differences, by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from onlinefa_benchmark.statistics.paired_differences import behind_best


def test_paired_differences_by_hand():
    seeds = pd.MultiIndex.from_product([[10], [0, 1, 2]], names=["D", "seed"])
    values = pd.DataFrame(
        {"a": [1.0, 2.0, 6.0], "b": [1.5, 3.5, 5.5], "c": [0.0, None, 0.0]}, index=seeds
    )
    table = behind_best(values, ["D"]).loc[10]
    # b - a is 0.5, 1.5, -0.5: mean 0.5, standard deviation 1, over the root of 3. c is incomplete.
    assert table.loc["a"].tolist() == [0, 0]
    assert table.loc["b"].tolist() == pytest.approx([0.5, 1 / np.sqrt(3)])
    assert behind_best(-values, ["D"]).loc[(10, "a"), "behind"] == pytest.approx(0.5)
    assert behind_best(values[["c"]], ["D"]).isna().all(axis=None)
