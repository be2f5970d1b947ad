"""Tests of summaries, from rows made by hand with known means."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support.result_rows import METRIC, REFERENCES, make_rows, metrics_of, summary_of

from onlinefa_benchmark import experiments
from onlinefa_benchmark.analysis.summary import summarise


def test_summary_by_hand():
    (row,) = summary_of(make_rows("online_em", [1, 2, 3])).to_dict("records")
    assert row["mean"] == 2
    # Standard deviation (ddof 1) of 1, 2, 3 is 1, over the root of 3.
    assert row["standard_error"] == pytest.approx(1 / np.sqrt(3))
    assert (row["ok"], row["seeds"], row["statuses"]) == (3, 3, "")


def test_a_diverged_seed_is_counted_and_named_not_dropped():
    (row,) = summary_of(make_rows("online_sga", [1, None, 3])).to_dict("records")
    assert (row["mean"], row["ok"], row["seeds"]) == (2, 2, 3)
    assert row["statuses"] == "1 diverged"


def test_groups_are_summarised_separately():
    summary = summary_of(
        make_rows("online_em", [1, 1]),
        make_rows("online_em", [2, 2], step=200),
        make_rows("online_em", [3, 3], D=20),
        make_rows("diagonal", [4, 4]),
    )
    assert sorted(summary["mean"]) == [1, 2, 3, 4]
    assert (summary["seeds"] == 2).all()


def test_entries_of_a_matrix_are_separate_groups():
    entries = [
        make_rows("online_em", [i + j, i + j + 2], "covariance", i=i, j=j)
        for i in (0, 1)
        for j in (0, 1)
    ]
    vector = make_rows("online_em", [5, 7], "mean", i=0)
    summary = summary_of(*entries, vector, make_rows("online_em", [1, 1]))
    found = summary.set_index(["metric", "i", "j"])["mean"]
    assert found["covariance"].tolist() == [1, 2, 2, 3]
    assert found["mean"].tolist() == [6]
    assert (summary["i"].dtype, summary["j"].dtype) == ("Int64", "Int64")
    is_scalar = summary["metric"] == METRIC
    assert summary["i"].isna().tolist() == is_scalar.tolist()
    assert summary["behind"].notna().tolist() == is_scalar.tolist()


def test_differences_from_the_best_exist_for_known_metrics_and_not_for_references():
    added = experiments.load("synthetic").metrics[0]
    rows = pd.concat(
        [make_rows("online_em", [1, 2], "added"), make_rows("diagonal", [3, 5], "added")]
    )
    without = summarise(rows, metrics_of(rows), REFERENCES)
    assert without["behind"].isna().all()
    known = summarise(rows, {"added": added}, REFERENCES).set_index("algorithm")
    assert known["behind"].to_dict() == {"online_em": 0, "diagonal": 2.5}
    alone = summarise(rows, {"added": added}, ["online_em"]).set_index("algorithm")
    assert alone.loc["diagonal", "behind"] == 0
    assert np.isnan(alone.loc["online_em", "behind"])
