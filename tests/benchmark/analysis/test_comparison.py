"""Tests of comparisons of algorithms, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from support.result_rows import METRIC, comparison_of, make_rows

from onlinefa_benchmark.statistics.significance import signed_rank


def by_algorithm(*frames, **reference):
    return comparison_of(*frames, **reference).set_index("algorithm")


def test_paired_differences_by_hand():
    table = by_algorithm(
        make_rows("batch_svd", [1, 2, 3, 4]),
        make_rows("online_em", [1.5, 2.5, 3.5, 6.5]),  # behind by 0.5, 0.5, 0.5, 2.5
        make_rows("diagonal", [0, 2, 4, 4]),  # by -1, 0, 1, 0
    )
    online, diagonal = table.loc["online_em"], table.loc["diagonal"]
    assert (online["difference"], online["pairs"], online["lost"]) == (1, 4, 0)
    assert online["standard_error"] == pytest.approx(1 / np.sqrt(4))  # standard deviation 1
    assert (online["p"], online["effect"]) == (2 / 16, 1)
    assert online["p_holm"] == 2 * online["p"]
    assert online["seeds_needed"] == 10  # an effect of one standard deviation
    assert (diagonal["difference"], diagonal["p"], diagonal["effect"]) == (0, 1, 0)
    assert np.isinf(diagonal["seeds_needed"])
    reference = table.loc["batch_svd"]
    assert reference[["difference", "p", "p_holm"]].isna().all() and reference["pairs"] == 0
    # Ranks seed by seed: batch SVD 2, 1.5, 1, 1.5; online EM 3, 3, 2, 3; diagonal 1, 1.5, 3, 1.5.
    assert table["mean_rank"].to_dict() == {"batch_svd": 1.5, "online_em": 2.75, "diagonal": 1.75}


def test_higher_is_better_for_a_likelihood():
    name = "held_out_log_likelihood"
    table = by_algorithm(
        make_rows("batch_svd", [-5, -6], metric=name), make_rows("diagonal", [-4, -5], metric=name)
    )
    assert table.loc["diagonal", "difference"] == -1
    assert table["mean_rank"].to_dict() == {"batch_svd": 2, "diagonal": 1}


def test_a_failed_fit_is_counted_and_loses_its_pair():
    table = by_algorithm(
        make_rows("batch_svd", [1, 1, 1, None, None]),
        make_rows("online_sga", [0.5, 0.5, None, None, 7]),
        make_rows("diagonal", [2, 2, 2, 2, 2]),
    )
    sga = table.loc["online_sga"]
    assert (sga["difference"], sga["pairs"], sga["lost"]) == (-0.5, 2, 3)
    # Two wins by 0.5 (ranks 1.5), one failure of each (3.5), and one of both, which is ignored.
    assert sga["p"] == signed_rank(np.array([-0.5, -0.5, 9, -9]))[1]
    assert sga["effect"] == pytest.approx((3.5 - 6.5) / 10)
    # Ranks: 1, 1, 3 as it failed, 2.5 with the other that failed, 2.
    assert sga["mean_rank"] == pytest.approx((1 + 1 + 3 + 2.5 + 2) / 5)
    assert table.loc["batch_svd", "mean_rank"] == pytest.approx((2 + 2 + 1 + 2.5 + 3) / 5)


def test_seeds_that_were_not_fitted_are_not_lost_and_give_no_rank():
    table = by_algorithm(
        make_rows("batch_svd", [1, 2, 3]),
        make_rows("diagonal", [2, 3, 4]),
        make_rows("online_em", [0.5]),
    )
    limited = table.loc["online_em"]
    assert (limited["pairs"], limited["lost"]) == (1, 0)
    assert np.isnan(limited["mean_rank"])
    assert table.loc["batch_svd", "mean_rank"] == 1


def test_a_diverging_algorithm_is_last_and_one_that_cannot_be_measured_is_left_out():
    table = by_algorithm(
        make_rows("batch_svd", [1, 2]),
        make_rows("online_em", [2, 3]),
        make_rows("online_sga", [None, None]),
        make_rows("diagonal", [None, None], status="undefined"),
    )
    assert set(table.index) == {"batch_svd", "online_em", "online_sga"}
    assert table.loc["online_sga", ["pairs", "lost", "mean_rank"]].tolist() == [0, 2, 3]


def test_ranks_exist_without_values_of_the_reference():
    nothing = make_rows("batch_svd", [None, None], status="undefined")
    table = by_algorithm(nothing, make_rows("diagonal", [1, 1]))
    assert table["mean_rank"].tolist() == [1]
    assert table["p"].isna().all()


def test_references_are_not_ranked():
    frames = [
        make_rows("gaussian_process", [0, 0]),
        make_rows("map", [1, 1]),
        make_rows("nuts", [0, 0]),
    ]
    table = by_algorithm(*frames, baseline="gaussian_process")
    assert set(table.index) == {"gaussian_process", "map"}
    assert table.loc["map", ["difference", "mean_rank"]].tolist() == [1, 1]
    assert np.isnan(table.loc["gaussian_process", "mean_rank"])


def test_differences_within_rounding_are_ignored():
    values = np.array([0.1, 0.2, 0.3, 1e6])
    table = by_algorithm(
        make_rows("batch_svd", values), make_rows("diagonal", values * (1 + 1e-14))
    )
    assert table.loc["diagonal", ["difference", "p", "mean_rank"]].tolist() == [0, 1, 1.5]


def test_the_family_is_all_settings_of_one_metric_at_the_last_step():
    seeds = np.arange(6.0)
    frames = [
        make_rows(algorithm, seeds + behind, metric, spectrum=spectrum, step=step)
        for algorithm, behind in [("batch_svd", 0), ("diagonal", 1), ("online_em", 2)]
        for metric in (METRIC, "wasserstein2")
        for spectrum in ("1-10", "1-100", "1-1000")
        for step in (10, 100)
    ]
    table = comparison_of(*frames)
    assert len(table) == 3 * 2 * 3
    assert (table["step"] == 100).all()
    tested = table[table["algorithm"] != "batch_svd"]
    assert tested["p_holm"].tolist() == pytest.approx([6 * 2 / 2**6] * 12)


def test_values_with_an_index_are_not_compared():
    frames = [make_rows(name, [1, 2]) for name in ("batch_svd", "diagonal")]
    entries = [make_rows(name, [1, 2], "wasserstein2", i=0) for name in ("batch_svd", "diagonal")]
    assert set(comparison_of(*frames, *entries)["metric"]) == {METRIC}
