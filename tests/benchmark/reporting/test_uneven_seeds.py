"""Tests of summaries, tables and figures of settings with different numbers of seeds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support.result_rows import METRIC, comparison_of, make_rows, summary_of

from onlinefa_benchmark import experiments
from onlinefa_benchmark.experiments.synthetic.figures import figure_5_1
from onlinefa_benchmark.reporting.tables import compared, final
from onlinefa_benchmark.reporting.tables.render import to_markdown
from onlinefa_benchmark.statistics.ranking import ranking
from onlinefa_benchmark.statistics.seeds import describe_seeds

SYNTHETIC = experiments.load("synthetic")
FROBENIUS = SYNTHETIC.all_metrics()[METRIC]


def final_table(summary, name="synthetic", metric=METRIC):
    """Return the table of final values in Markdown."""
    experiment = experiments.load(name)
    _, *shown = final.make_table(experiment, summary, experiment.all_metrics()[metric])
    return to_markdown(*shown)


def uneven():
    """Return rows with two seeds of one spectrum and four of the other."""
    return pd.concat(
        [
            make_rows("batch_svd", [1, 2]),
            make_rows("diagonal", [2, 4]),  # behind by 1 and 2
            make_rows("batch_svd", [1, 2, 3, 4], spectrum="1-100"),
            make_rows("diagonal", [2, 3, 4, 7], spectrum="1-100"),  # behind by 1, 1, 1, 3
        ],
        ignore_index=True,
    )


def test_means_are_taken_over_the_seeds_of_each_setting():
    summary = summary_of(uneven()).set_index(["spectrum", "algorithm"])
    assert summary["seeds"].to_dict() == summary["ok"].to_dict()
    assert summary["seeds"].groupby("spectrum").unique().map(list).to_dict() == {
        "1-10": [2],
        "1-100": [4],
    }
    few, many = summary.loc[("1-10", "diagonal")], summary.loc[("1-100", "diagonal")]
    # Standard deviations of two seeds are sqrt(2) and sqrt(1/2); of four, squared deviations sum
    # to 14 and 3.
    assert few[["mean", "standard_error", "behind", "behind_error"]].tolist() == pytest.approx(
        [3, 1, 1.5, 0.5]
    )
    assert many[["mean", "standard_error", "behind", "behind_error"]].tolist() == pytest.approx(
        [4, np.sqrt(14 / 3) / 2, 1.5, 0.5]
    )
    assert (summary.xs("batch_svd", level="algorithm")["behind"] == 0).all()


def test_tests_and_ranks_use_the_seeds_of_each_setting():
    comparison = comparison_of(uneven())
    table = comparison.set_index(["spectrum", "algorithm"])
    few, many = table.loc[("1-10", "diagonal")], table.loc[("1-100", "diagonal")]
    assert (few["pairs"], many["pairs"], few["lost"], many["lost"]) == (2, 4, 0, 0)
    assert (few["p"], many["p"]) == (2 / 2**2, 2 / 2**4)
    assert (few["p_holm"], many["p_holm"]) == (0.5, 0.25)
    # Only algorithms that were fitted with all seeds have a rank: here all of them.
    assert table["mean_rank"].groupby("algorithm").unique().map(list).to_dict() == {
        "batch_svd": [1],
        "diagonal": [2],
    }
    assert ranking(comparison, METRIC).blocks == 2


def test_settings_have_equal_weight_in_mean_ranks():
    three = pd.concat(
        [
            uneven(),
            make_rows("online_em", [0, 0]),
            make_rows("online_em", [9] * 4, spectrum="1-100"),
        ]
    )
    found = ranking(comparison_of(three), METRIC)
    # Ranks 2, 3, 1 with two seeds and 1, 2, 3 with four.
    assert found.ranks.to_dict() == {"batch_svd": 1.5, "diagonal": 2.5, "online_em": 2}


def test_a_table_shows_the_number_of_seeds_of_each_line():
    markdown = final_table(summary_of(uneven()))
    assert "; mean and standard error over 2 to 4 seeds; lower is better" in markdown
    assert "| D | K | spectrum | seeds | batch SVD | diagonal control |" in markdown
    assert "| 10 | 2 | [1, 10] | 2 | **1.50 ± 0.50** | 3.0 ± 1.0 |" in markdown
    assert "| 10 | 2 | [1, 100] | 4 | **2.50 ± 0.65** | 4.0 ± 1.1 |" in markdown


def compared_table(comparison):
    rows, *shown = compared.make_table(SYNTHETIC, comparison, FROBENIUS)
    return rows, to_markdown(*shown)


def test_a_table_of_tests_shows_the_number_of_pairs_of_each_line():
    comparison = comparison_of(uneven())
    _, text = compared_table(comparison)
    assert "mean difference and standard error over 2 to 4 seeds; less than" in text
    # Two lines, 2 x 2 / 2^4 at best.
    assert (
        "2 to 4 pairs cannot show any difference at 5 %, because no adjusted p can be below 0.25."
    ) in text
    assert "| D | K | spectrum | algorithm | pairs | difference |" in text
    assert "| 10 | 2 | [1, 10] | diagonal control | 2 | 1.50 ± 0.50 | 8.2 | 0.500 |" in text
    assert "| 10 | 2 | [1, 100] | diagonal control | 4 | 1.50 ± 0.50 | 2.1 | 0.250 |" in text
    even = comparison[comparison["spectrum"] == "1-100"]
    rows, text = compared_table(even)
    assert len(rows) == 1
    assert "over 4 seeds" in text and "| pairs |" not in text


def test_a_figure_shows_the_range_of_numbers_of_seeds():
    figure = figure_5_1(SYNTHETIC, summary_of(uneven()))
    assert "over 2 to 4 seeds" in figure.legends[0].get_title().get_text()


def of_networks(numbers, experiment="network", metric="test_nll"):
    """Summarise numbers of seeds by dataset and width; one algorithm is limited to one seed."""
    own = {"noise": "evidence"} if experiment == "network" else {}
    frames = [
        make_rows(
            algorithm,
            np.arange(1.0, 1 + seeds),
            metric,
            spectrum=None,
            experiment=experiment,
            dataset=dataset,
            width=width,
            **own,
        )
        for (dataset, width), number in numbers.items()
        for algorithm, seeds in [("map", number), ("swag", 1)]
    ]
    return summary_of(*frames)


def test_datasets_with_fewer_seeds_are_named_if_the_number_depends_on_the_dataset():
    summary = of_networks({("boston", 50): 4, ("casp", 50): 2, ("yacht", 50): 3})
    table = final_table(summary, "network", "test_nll")
    assert "over 4 seeds (casp: 2, yacht: 3); lower" in table
    assert "(1/3)" in table  # of the limited algorithm
    alike = of_networks({("boston", 50): 4, ("casp", 50): 4})
    assert "over 4 seeds; lower" in final_table(alike, "network", "test_nll")
    widths = of_networks({("boston", 50): 4, ("boston", 200): 2}, "gp", "mean_error")
    assert "over 2 to 4 seeds; lower" in final_table(widths, "gp", "mean_error")


def test_limits_of_an_algorithm_do_not_count_as_uneven_seeds():
    keys = experiments.load("network").setting_keys
    four, one = (of_networks({("boston", 50): seeds}) for seeds in (4, 1))
    assert describe_seeds(four, keys, "mean") == "mean over 4 seeds"
    assert describe_seeds(one, keys) == "one seed"
