"""Settings with different numbers of seeds: what is computed of them, and what is said of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from onlinefa.comparison import compare, ranking
from onlinefa.figures.chapter5 import draw_over_samples
from onlinefa.presentation import over_seeds
from onlinefa.summary import summarise
from onlinefa.tables.compared import compared_rows, write_tables
from onlinefa.tables.final import final_rows, grid, to_markdown

METRIC = "relative_frobenius"


def rows(algorithm, values, spectrum="1-10", **others):
    return pd.DataFrame(
        {
            "experiment": "synthetic", "dataset": "algorithm_3", "walk": None,
            "algorithm": algorithm, "D": 10, "K": 2, "width": np.nan, "spectrum": spectrum,
            "scale": np.nan, "seed": range(len(values)), "step": 100, "metric": METRIC,
            "value": pd.Series(values, dtype=float), "status": "ok", "seconds": 1.0,
            "contract": "", "networks": np.nan,
        }
        | others
    )  # fmt: skip


def uneven():
    """Two seeds of one spectrum, four of the other one."""
    return pd.concat(
        [
            rows("batch_svd", [1, 2]),
            rows("diagonal", [2, 4]),  # behind by 1 and 2
            rows("batch_svd", [1, 2, 3, 4], "1-100"),
            rows("diagonal", [2, 3, 4, 7], "1-100"),  # behind by 1, 1, 1, 3
        ],
        ignore_index=True,
    )


def test_every_setting_has_the_mean_of_its_own_seeds():
    summary = summarise(uneven()).set_index(["spectrum", "algorithm"])
    assert summary["seeds"].to_dict() == summary["ok"].to_dict()
    assert summary["seeds"].groupby("spectrum").unique().map(list).to_dict() == {
        "1-10": [2], "1-100": [4]
    }  # fmt: skip
    few, many = summary.loc[("1-10", "diagonal")], summary.loc[("1-100", "diagonal")]
    # Standard deviations are sqrt(2) and sqrt(1/2) of two; of four, squares add up to 14 and to 3.
    assert few[["mean", "standard_error", "behind", "behind_error"]].tolist() == pytest.approx(
        [3, 1, 1.5, 0.5]
    )
    assert many[["mean", "standard_error", "behind", "behind_error"]].tolist() == pytest.approx(
        [4, np.sqrt(14 / 3) / 2, 1.5, 0.5]
    )
    assert (summary.xs("batch_svd", level="algorithm")["behind"] == 0).all()


def test_tests_and_ranks_are_those_of_the_setting():
    comparison = compare(uneven(), "batch_svd")
    table = comparison.set_index(["spectrum", "algorithm"])
    few, many = table.loc[("1-10", "diagonal")], table.loc[("1-100", "diagonal")]
    assert (few["pairs"], many["pairs"], few["lost"], many["lost"]) == (2, 4, 0, 0)
    assert (few["p"], many["p"]) == (2 / 2**2, 2 / 2**4)
    assert (few["p_holm"], many["p_holm"]) == (0.5, 0.25)
    # Nobody has a rank who was not tried with all seeds: all were, of each setting.
    assert table["mean_rank"].groupby("algorithm").unique().map(list).to_dict() == {
        "batch_svd": [1], "diagonal": [2]
    }  # fmt: skip
    assert ranking(comparison, METRIC).blocks == 2


def test_a_setting_counts_once_however_many_seeds_it_has():
    three = pd.concat([uneven(), rows("online_em", [0, 0]), rows("online_em", [9] * 4, "1-100")])
    found = ranking(compare(three, "batch_svd"), METRIC)
    # Ranks 2, 3, 1 with two seeds and 1, 2, 3 with four.
    assert found.ranks.to_dict() == {"batch_svd": 1.5, "diagonal": 2.5, "online_em": 2}


def test_a_table_says_how_many_seeds_a_line_has():
    table = final_rows(summarise(uneven()), METRIC)
    markdown = to_markdown(table, METRIC)
    assert "; mean and standard error over 2 to 4 seeds; lower is better" in markdown
    assert "| D | K | spectrum | seeds | batch SVD | diagonal control |" in markdown
    assert "| 10 | 2 | [1, 10] | 2 | **1.50 ± 0.50** | 3.0 ± 1.0 |" in markdown
    assert "| 10 | 2 | [1, 100] | 4 | **2.50 ± 0.65** | 4.0 ± 1.1 |" in markdown
    header, _ = grid(table)
    assert header[:5] == ["D", "K", "spectrum", "seeds", "batch SVD"]


def test_a_table_of_tests_says_how_many_pairs_a_line_has(tmp_path):
    comparison = compare(uneven(), "batch_svd")
    comparison.to_parquet(tmp_path / "synthetic.parquet")
    path = tmp_path / f"compared_{METRIC}.md"
    write_tables(tmp_path / "synthetic.parquet", [path])
    text = path.read_text()
    assert "mean difference and standard error over 2 to 4 seeds; less than" in text
    # Two lines, 2 x 2 / 2^4 at best.
    assert (
        "2 to 4 pairs cannot show any difference at 5 %, because no adjusted p can be below 0.25."
    ) in text
    assert "| D | K | spectrum | algorithm | pairs | difference |" in text
    assert "| 10 | 2 | [1, 10] | diagonal control | 2 | 1.50 ± 0.50 | 0.500 |" in text
    assert "| 10 | 2 | [1, 100] | diagonal control | 4 | 1.50 ± 0.50 | 0.250 |" in text
    even = comparison[comparison["spectrum"] == "1-100"]
    assert len(compared_rows(even, METRIC)) == 1
    even.to_parquet(tmp_path / "synthetic.parquet")
    write_tables(tmp_path / "synthetic.parquet", [path])
    assert "over 4 seeds" in path.read_text() and "| pairs |" not in path.read_text()


def test_a_figure_says_from_how_many_to_how_many():
    figure = draw_over_samples(summarise(uneven()), METRIC)
    assert "over 2 to 4 seeds" in figure.legends[0].get_title().get_text()


def of_networks(numbers, experiment="network", metric="test_nll"):
    """As many seeds of each dataset and width; and one algorithm that is limited to one seed."""
    frames = [
        rows(algorithm, np.arange(1.0, 1 + seeds), spectrum=None, experiment=experiment,
             dataset=dataset, width=width, metric=metric)
        for (dataset, width), number in numbers.items()
        for algorithm, seeds in [("map", number), ("swag", 1)]
    ]  # fmt: skip
    return summarise(pd.concat(frames, ignore_index=True))


def test_datasets_with_fewer_seeds_are_named_where_settings_are_datasets():
    summary = of_networks({("boston", 50): 4, ("casp", 50): 2, ("yacht", 50): 3})
    table = to_markdown(final_rows(summary, "test_nll"), "test_nll")
    assert "over 4 seeds (casp: 2, yacht: 3); lower" in table
    assert "(1/3)" in table  # of who is limited
    alike = of_networks({("boston", 50): 4, ("casp", 50): 4})
    assert "over 4 seeds; lower" in to_markdown(final_rows(alike, "test_nll"), "test_nll")
    widths = of_networks({("boston", 50): 4, ("boston", 200): 2}, "gp", "mean_error")
    assert "over 2 to 4 seeds; lower" in to_markdown(final_rows(widths, "mean_error"), "mean_error")


def test_who_is_limited_to_fewer_makes_no_setting_uneven():
    assert over_seeds(of_networks({("boston", 50): 4}), "mean") == "mean over 4 seeds"
    assert over_seeds(of_networks({("boston", 50): 1})) == "one seed"
