"""Tests of how failed cells are counted in summaries and comparisons."""

from __future__ import annotations

import pandas as pd
import pytest
from support.failing_jobs import AXES, FIRST, GROUP, SECOND, write_job
from support.result_rows import (
    ANGLE,
    METRIC,
    comparison_of,
    make_failure,
    summary_of,
)
from support.result_rows import make_rows as make_rows_without_contract

from onlinefa_benchmark.analysis.failures import (
    delete_files_with_failures,
    fill_in_failures,
    find_failures,
    read_measurements,
)
from onlinefa_benchmark.cells import Bundle
from onlinefa_benchmark.storage.result_file import ResultError, bundle_path
from onlinefa_benchmark.storage.schema import FAILED


def make_rows(algorithm, values, metric=METRIC, **others):
    return make_rows_without_contract(algorithm, values, metric, contract=f"of {metric}", **others)


def filled_in(*frames):
    return fill_in_failures(pd.concat(frames, ignore_index=True))


def lacking(found):
    """Return the keys of the rows that were filled in for failed cells."""
    missing = found[found["status"] == FAILED]
    assert missing["value"].isna().all()
    keys = ["algorithm", "spectrum", "seed", "step", "metric", "contract"]
    return set(missing[keys].itertuples(index=False, name=None))


def test_without_failures_nothing_changes():
    frame = pd.concat(
        [make_rows("diagonal", [1, 2]), make_rows("online_em", [3])], ignore_index=True
    )
    pd.testing.assert_frame_equal(fill_in_failures(frame), frame)


def test_a_failed_cell_gets_the_rows_of_other_seeds():
    found = filled_in(
        make_rows("online_em", [1, 2]),
        make_rows("online_em", [1, 2], step=200),
        make_rows("diagonal", [5], "x"),
        make_failure("online_em", 2),
    )
    expected = {("online_em", "1-10", 2, step, METRIC, f"of {METRIC}") for step in (100, 200)}
    assert lacking(found) == expected
    assert len(found) == 2 + 2 + 1 + 2


def test_a_failed_cell_without_other_seeds_gets_the_rows_of_other_algorithms():
    found = filled_in(
        make_rows("online_em", [1, 2]),
        make_rows("online_em", [1], "x", spectrum="1-100"),
        make_rows("online_sga", [1], "x", spectrum="1-100").assign(contract="in other words"),
        make_failure("diagonal", 0),
        make_failure("diagonal", 0, spectrum="1-1000"),
    )
    assert lacking(found) == {
        ("diagonal", "1-10", 0, 100, METRIC, f"of {METRIC}"),
        ("diagonal", "1-1000", 0, 100, METRIC, f"of {METRIC}"),
        ("diagonal", "1-1000", 0, 100, "x", "of x"),
    }


def test_a_summary_counts_failed_cells():
    frames = [
        make_rows("online_em", [1, 3]),
        make_failure("online_em", 2),
        make_rows("diagonal", [1, 1, 1]),
    ]
    summary = summary_of(*frames).set_index("algorithm")
    assert set(summary["metric"]) == {METRIC}
    online = summary.loc["online_em"]
    assert (online["mean"], online["ok"], online["seeds"]) == (2, 2, 3)
    assert (online["statuses"], online["seconds"]) == ("1 failed", 1)
    assert summary.loc["diagonal", "statuses"] == ""


def test_an_algorithm_that_always_failed_is_in_the_summary():
    frames = [
        make_rows("diagonal", [1, 2]),
        make_failure("online_em", 0),
        make_failure("online_em", 1),
    ]
    summary = summary_of(*frames).set_index("algorithm")
    online = summary.loc["online_em"]
    assert (online["ok"], online["seeds"], online["statuses"]) == (0, 2, "2 failed")
    assert online["contract"] == f"of {METRIC}"


def test_a_failed_cell_loses_its_pair_in_a_comparison():
    table = comparison_of(
        make_rows("batch_svd", [1, 1, 1]),
        make_rows("online_em", [0.5, 0.5]),
        make_failure("online_em", 2),
        make_failure("online_sga", 0),
        make_failure("online_sga", 1),
        make_failure("online_sga", 2),
    ).set_index("algorithm")
    assert table.loc["online_em", ["difference", "pairs", "lost"]].tolist() == [-0.5, 2, 1]
    # Ranks: 1, 1, and 2.5 with the other that failed.
    assert table.loc["online_em", "mean_rank"] == pytest.approx(4.5 / 3)
    assert table.loc["online_sga", ["pairs", "lost"]].tolist() == [0, 3]


def test_a_failed_cell_loses_no_pair_in_metrics_undefined_for_its_algorithm():
    nothing = make_rows("diagonal", [None, None], ANGLE, status="undefined")
    table = comparison_of(
        make_rows("batch_svd", [1, 1, 1]),
        make_rows("batch_svd", [1, 1, 1], ANGLE),
        make_rows("diagonal", [2, 2]),
        nothing,
        make_failure("diagonal", 2),
    )
    assert set(table[table["metric"] == ANGLE]["algorithm"]) == {"batch_svd"}
    of_diagonal = table[(table["metric"] == METRIC) & (table["algorithm"] == "diagonal")]
    assert of_diagonal[["pairs", "lost"]].to_numpy().tolist() == [[2, 1]]


def test_only_files_with_failed_cells_are_deleted(tmp_path):
    write_job(FIRST, tmp_path, 0)
    write_job(SECOND, tmp_path)
    (found,) = find_failures([FIRST, SECOND], tmp_path)
    assert (found.bundle, found.cell.seed, found.reason) == (FIRST, 0, "ValueError: `0`")
    never_made = Bundle("synthetic", AXES, (GROUP,), (4,))
    paths = [bundle_path(bundle, tmp_path) for bundle in (FIRST, SECOND)]
    assert delete_files_with_failures([FIRST, SECOND, never_made], tmp_path) == paths[:1]
    assert [path.exists() for path in paths] == [False, True]


def test_reading_measurements_is_an_error_if_every_cell_failed(tmp_path):
    write_job(FIRST, tmp_path, 0, 1)
    with pytest.raises(ResultError, match="every cell has failed"):
        read_measurements([FIRST], tmp_path, ["experiment", "metric"])
