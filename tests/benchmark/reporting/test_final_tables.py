"""Tests of tables of final values, from rows made by hand."""

from __future__ import annotations

import numpy as np
from support.result_rows import make_rows, summary_of

from onlinefa_benchmark import experiments
from onlinefa_benchmark.reporting.tables.final import caption, final_rows, grid
from onlinefa_benchmark.reporting.tables.latex import to_latex
from onlinefa_benchmark.reporting.tables.render import to_markdown

EXPERIMENT = experiments.load("synthetic")
METRICS = EXPERIMENT.all_metrics()
FROBENIUS = METRICS["relative_frobenius"]


def final(summary, metric="relative_frobenius"):
    return final_rows(EXPERIMENT, summary, METRICS[metric])


def markdown_of(table):
    return to_markdown(caption(EXPERIMENT, table, FROBENIUS), *grid(EXPERIMENT, table))


def test_the_best_and_equally_good_algorithms_are_bold():
    summary = summary_of(
        make_rows("batch_ml", [0.9, 1.0, 1.1]),
        make_rows("batch_svd", [0.95, 0.9, 1.2]),  # behind by 0.05, -0.1, 0.1: 0.017 +- 0.060
        make_rows("online_em", [1.0, 1.1, 1.2]),  # behind by 0.1 for every seed
        make_rows("online_sga", [0.5, None, 0.5]),  # better for the seeds that do not fail
    )
    table = final(summary)
    assert set(table[table["is_best"]]["algorithm"]) == {"batch_ml", "batch_svd"}
    markdown = markdown_of(table)
    assert "**1.000 ± 0.058**" in markdown
    assert "| 1.100 ± 0.058 |" in markdown
    assert "(2/3)" in markdown
    latex = to_latex("best", caption(EXPERIMENT, table, FROBENIUS), *grid(EXPERIMENT, table))
    assert r"$\mathbf{1.000 \pm 0.058}$" in latex
    assert latex.count("&") == 2 * 6  # a header and one line, seven columns


def test_very_large_values_are_written_with_exponents():
    table = final(summary_of(make_rows("online_sga", [1e13, 3e13])))
    assert "2.0e+13 ± 1.0e+13" in markdown_of(table)


def test_an_infinite_error_is_shown_and_its_algorithm_is_not_best():
    summary = summary_of(make_rows("batch_ml", [1.0, 2.0]), make_rows("online_sga", [1e200, 3e200]))
    table = final(summary)
    assert np.isinf(table["standard_error"]).tolist() == [True, False]
    markdown = markdown_of(table)
    assert "| 2.0e+200 ± inf | **1.50 ± 0.50** |" in markdown


def test_a_value_without_an_error_has_few_digits():
    for values in [[0.27531692, 0.27531692], [0.27531692, 0.27531692 + 1e-17]]:
        table = final(summary_of(make_rows("diagonal", values)))
        assert "0.2753 ± 0.0000" in markdown_of(table)


def test_digits_are_chosen_by_the_standard_error_of_differences():
    summary = summary_of(
        make_rows("batch_ml", [10.0, 20.0, 30.0]),
        make_rows("batch_svd", [10.1, 20.2, 30.3]),  # behind by 0.2 +- 0.058, with 5.8 for the mean
    )
    markdown = markdown_of(final(summary))
    assert "20.200 ± 5.831 | **20.000 ± 5.774**" in markdown


def test_higher_is_better_for_a_likelihood():
    name = "held_out_log_likelihood"
    summary = summary_of(
        make_rows("batch_ml", [-5, -5.1], metric=name),
        make_rows("diagonal", [-9, -9.1], metric=name),
    )
    table = final(summary, name)
    assert list(table[table["is_best"]]["algorithm"]) == ["batch_ml"]


def test_only_the_largest_sample_size_is_in_the_table():
    summary = summary_of(make_rows("diagonal", [1, 1]), make_rows("diagonal", [2, 2], step=200))
    assert list(final(summary)["mean"]) == [2]


def test_an_algorithm_without_any_value_has_a_dash():
    summary = summary_of(make_rows("online_sga", [None, None]), make_rows("diagonal", [1, 2]))
    assert "| –" in markdown_of(final(summary))


def test_a_metric_without_values_has_an_empty_table():
    table = final(summary_of(make_rows("diagonal", [1, 2])), "wasserstein2")
    assert caption(EXPERIMENT, table, METRICS["wasserstein2"]) == (
        "2-Wasserstein distance: no cell has a value."
    )
    assert grid(EXPERIMENT, table)[1] == []
