"""Tests of the rule for the best algorithm of a setting."""

from __future__ import annotations

from support.result_rows import METRIC, make_rows, summary_of

from onlinefa_benchmark.analysis.best import mark_best, select_final

SETTING = ["D", "K", "spectrum"]


def best_of(*frames):
    rows = select_final(summary_of(*frames), METRIC, SETTING)
    return set(rows.loc[rows["is_best"], "algorithm"])


def test_values_within_one_standard_error_of_the_difference_are_as_good():
    best = make_rows("batch_ml", [1.0, 2.0, 3.0])
    # Behind by 0.2, -0.1 and 0.1: 0.067 with a standard error of 0.088. Behind by 0.1 for all.
    close = make_rows("batch_svd", [1.2, 1.9, 3.1])
    behind = make_rows("online_em", [1.1, 2.1, 3.1])
    assert best_of(best, close, behind) == {"batch_ml", "batch_svd"}


def test_an_algorithm_without_all_values_is_not_best():
    assert best_of(make_rows("online_em", [1, None]), make_rows("diagonal", [2, 2])) == {"diagonal"}


def test_no_algorithm_is_best_if_one_with_fewer_seeds_is_better():
    limited = make_rows("online_em", [1])
    assert best_of(limited, make_rows("diagonal", [2, 2])) == set()
    assert best_of(limited, make_rows("diagonal", [0.5, 2])) == {"diagonal"}


def test_references_are_never_best():
    assert best_of(make_rows("nuts", [0, 0]), make_rows("map", [1, 2])) == {"map"}


def test_each_setting_and_step_has_its_own_best():
    summary = summary_of(
        *(
            make_rows(name, [value, value], spectrum=spectrum, step=step)
            for (spectrum, step), values in {("1-10", 1): (1, 2), ("1-10", 2): (2, 1)}.items()
            for name, value in zip(("online_em", "diagonal"), values, strict=True)
        ),
        make_rows("diagonal", [9, 9], spectrum="1-100", step=2),
    )
    rows = mark_best(summary, SETTING)
    found = rows[rows["is_best"]][["spectrum", "step", "algorithm"]].itertuples(index=False)
    assert set(map(tuple, found)) == {
        ("1-10", 1, "online_em"),
        ("1-10", 2, "diagonal"),
        ("1-100", 2, "diagonal"),
    }
