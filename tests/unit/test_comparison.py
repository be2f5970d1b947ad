"""Tests, ranks and what is said of them, against enumeration, arithmetic and published numbers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from onlinefa.comparison import compare, ranking
from onlinefa.figures.ranks import draw_ranks
from onlinefa.ranking import Ranking, critical_difference, ranked
from onlinefa.significance import holm, power, seeds_needed, signed_rank, smallest_p
from onlinefa.tables import FORMATS
from onlinefa.tables.compared import caption, compared_rows, write_tables

METRIC = "relative_frobenius"


def rows(algorithm, values, metric=METRIC, spectrum="1-10", step=100, **others):
    """One row per seed; a value of None is a fit that diverged."""
    same = {
        "experiment": "synthetic", "dataset": "algorithm_3", "walk": None, "algorithm": algorithm,
        "D": 10, "K": 2, "width": np.nan, "spectrum": spectrum, "scale": np.nan, "step": step,
        "metric": metric,
    }  # fmt: skip
    values = pd.Series(values, dtype=float)
    each = {"seed": range(len(values)), "value": values}
    return pd.DataFrame(
        same | each | {"status": values.isna().map({True: "diverged", False: "ok"})} | others
    )


def comparison_of(*frames, reference="batch_svd"):
    return compare(pd.concat(frames, ignore_index=True), reference)


def by_algorithm(*frames, **reference):
    return comparison_of(*frames, **reference).set_index("algorithm")


def enumerated(differences):
    """Of all ways in which signs can fall, the share that is at least as far from the middle."""
    ranks = stats.rankdata(np.abs(differences))
    sums = [ranks[list(signs)].sum() for signs in product([False, True], repeat=len(ranks))]
    middle, seen = ranks.sum() / 2, ranks[differences > 0].sum()
    return np.mean(np.abs(np.array(sums) - middle) >= abs(seen - middle) - 1e-9)


@pytest.mark.parametrize("pairs", [1, 2, 5, 9])
@pytest.mark.parametrize("digits", [1, 8], ids=["equal ones", "all different"])
def test_the_signed_rank_test_is_that_of_all_signs(pairs, digits):
    random = np.random.default_rng(pairs)
    for shift in (0, 0.3, 2):
        differences = np.round(random.normal(shift, 0.5, pairs), digits)
        differences = differences[differences != 0]
        effect, p = signed_rank(differences)
        assert p == pytest.approx(enumerated(differences))
        ranks = stats.rankdata(np.abs(differences))
        assert effect == pytest.approx((np.sign(differences) * ranks).sum() / ranks.sum())


def test_the_signed_rank_test_is_scipys_where_that_is_exact():
    differences = np.random.default_rng(0).normal(0.3, 1, 30)
    exact = stats.wilcoxon(differences, method="exact").pvalue
    assert signed_rank(differences)[1] == pytest.approx(exact)
    many = np.random.default_rng(0).normal(0.1, 1, 200)
    assert signed_rank(many)[1] == pytest.approx(stats.wilcoxon(many).pvalue)


def test_zeros_tell_nothing():
    assert signed_rank(np.zeros(5)) == (0, 1)
    assert signed_rank(np.array([0.0, 0.0, 1.0, 2.0, 3.0])) == signed_rank(np.array([1.0, 2, 3]))
    assert np.isnan(signed_rank(np.array([np.nan]))).all()


def test_holm_by_hand():
    # In order 0.01, 0.02, 0.03, 0.5, times 4, 3, 2, 1: 0.04, 0.06, 0.06, 0.5, none below the last.
    adjusted = holm(np.array([0.02, 0.5, np.nan, 0.01, 0.03]))
    assert adjusted == pytest.approx([0.06, 0.5, np.nan, 0.04, 0.06], nan_ok=True)
    assert holm(np.array([0.9, 0.8])).tolist() == [1, 1]


@pytest.mark.parametrize("pairs", [1, 3, 6, 12])
def test_no_pairs_could_give_a_smaller_p(pairs):
    _, p = signed_rank(np.arange(1.0, pairs + 1))
    assert smallest_p(pairs, 1) == pytest.approx(p)
    assert smallest_p(pairs, 7) == pytest.approx(holm(np.full(7, p))[0])


@pytest.mark.parametrize(("effect", "seeds"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_seeds_needed_are_those_of_published_tables(effect, seeds):
    # Paired t test, two-sided, 5 %, power 80 %, as G*Power has them.
    assert seeds_needed(np.array([-3 * effect]), np.array([3.0])) == [seeds]


def test_seeds_needed_are_the_fewest():
    effects = np.array([0.11, 0.3, 1.0, 2.0, 5.0])
    needed = seeds_needed(effects, np.ones(5))
    assert (power(needed, effects) >= 0.8).all()
    fewer = needed > 2
    assert (power(needed[fewer] - 1, effects[fewer]) < 0.8).all()
    assert power(np.array([7.0]), np.zeros(1)) == pytest.approx(0.05)


def test_seeds_needed_at_the_edges():
    needed = seeds_needed(np.array([0.0, 1.0, 1e-9, np.nan, 0.0]), np.array([1.0, 0, 1, 1, 0]))
    np.testing.assert_array_equal(needed, [np.inf, 2, np.inf, np.nan, np.nan])


@pytest.mark.parametrize(
    ("algorithms", "q"),
    [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (10, 3.164)],
)
def test_critical_differences_are_those_of_demsar(algorithms, q):
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
    agree = ranked(pd.DataFrame({"b": [2.0, 5, 2], "a": [1.0, 4, 1], "c": [3.0, 6, 3]}))
    assert agree.ranks.to_dict() == {"a": 1, "b": 2, "c": 3}
    assert agree.p == pytest.approx(np.exp(-3))
    assert ranked(pd.DataFrame(np.ones((3, 3)))).p == 1
    alone = ranked(pd.DataFrame({"a": [1.0], "b": [2.0], "c": [3.0]}))
    assert not alone.is_tested and np.isnan(alone.p) and np.isnan(alone.critical_difference)


def test_paired_differences_by_hand():
    table = by_algorithm(
        rows("batch_svd", [1, 2, 3, 4]),
        rows("online_em", [1.5, 2.5, 3.5, 6.5]),  # behind by 0.5, 0.5, 0.5, 2.5
        rows("diagonal", [0, 2, 4, 4]),  # by -1, 0, 1, 0
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
    assert table["mean_rank"].to_dict() == {
        "batch_svd": 1.5, "online_em": 2.75, "diagonal": 1.75
    }  # fmt: skip


def test_higher_is_better_for_a_likelihood():
    name = "held_out_log_likelihood"
    table = by_algorithm(
        rows("batch_svd", [-5, -6], metric=name), rows("diagonal", [-4, -5], metric=name)
    )
    assert table.loc["diagonal", "difference"] == -1
    assert table["mean_rank"].to_dict() == {"batch_svd": 2, "diagonal": 1}


def test_a_fit_that_failed_is_counted_and_has_lost():
    table = by_algorithm(
        rows("batch_svd", [1, 1, 1, None, None]),
        rows("online_sga", [0.5, 0.5, None, None, 7]),
        rows("diagonal", [2, 2, 2, 2, 2]),
    )
    sga = table.loc["online_sga"]
    assert (sga["difference"], sga["pairs"], sga["lost"]) == (-0.5, 2, 3)
    # Two wins by 0.5 (ranks 1.5), one failure of each (3.5), and one of both, which tells nothing.
    assert sga["p"] == pytest.approx(enumerated(np.array([-0.5, -0.5, 9, -9])))
    assert sga["effect"] == pytest.approx((3.5 - 6.5) / 10)
    # Ranks: 1, 1, 3 as it failed, 2.5 with the other that failed, 2.
    assert sga["mean_rank"] == pytest.approx((1 + 1 + 3 + 2.5 + 2) / 5)
    assert table.loc["batch_svd", "mean_rank"] == pytest.approx((2 + 2 + 1 + 2.5 + 3) / 5)


def test_what_was_not_tried_has_neither_lost_nor_a_rank():
    table = by_algorithm(
        rows("batch_svd", [1, 2, 3]), rows("diagonal", [2, 3, 4]), rows("online_em", [0.5])
    )
    limited = table.loc["online_em"]
    assert (limited["pairs"], limited["lost"]) == (1, 0)
    assert np.isnan(limited["mean_rank"])
    assert table.loc["batch_svd", "mean_rank"] == 1


def test_who_always_diverges_is_last_and_who_has_nothing_to_measure_is_left_out():
    table = by_algorithm(
        rows("batch_svd", [1, 2]), rows("online_em", [2, 3]), rows("online_sga", [None, None]),
        rows("diagonal", [None, None], status="undefined"),
    )  # fmt: skip
    assert set(table.index) == {"batch_svd", "online_em", "online_sga"}
    assert table.loc["online_sga", ["pairs", "lost", "mean_rank"]].tolist() == [0, 2, 3]


def test_a_metric_that_measures_nobody_has_no_rows(tmp_path):
    frames = [rows(name, [1, 2, 3]) for name in ("batch_svd", "diagonal")]
    angle = "largest_principal_angle"
    comparison = comparison_of(*frames, rows("diagonal", [None], angle, status="undefined"))
    assert set(comparison["metric"]) == {METRIC}
    comparison.to_parquet(tmp_path / "synthetic.parquet")
    write_tables(tmp_path / "synthetic.parquet", [tmp_path / "ranks.md"])
    text = (tmp_path / "ranks.md").read_text()
    assert "averaged over 1 settings" in text and "So few cannot be tested" in text


def test_a_reference_without_values_leaves_ranks():
    nothing = rows("batch_svd", [None, None], status="undefined")
    table = by_algorithm(nothing, rows("diagonal", [1, 1]))
    assert table["mean_rank"].tolist() == [1]
    assert table["p"].isna().all()


def test_what_others_are_held_against_is_not_ranked():
    frames = [rows("gaussian_process", [0, 0]), rows("map", [1, 1]), rows("nuts", [0, 0])]
    table = by_algorithm(*frames, reference="gaussian_process")
    assert set(table.index) == {"gaussian_process", "map"}
    assert table.loc["map", ["difference", "mean_rank"]].tolist() == [1, 1]
    assert np.isnan(table.loc["gaussian_process", "mean_rank"])


def test_rounding_is_no_difference():
    values = np.array([0.1, 0.2, 0.3, 1e6])
    table = by_algorithm(rows("batch_svd", values), rows("diagonal", values * (1 + 1e-14)))
    assert table.loc["diagonal", ["difference", "p", "mean_rank"]].tolist() == [0, 1, 1.5]


def test_the_family_is_all_settings_of_one_metric_at_the_last_step():
    seeds = np.arange(6.0)
    frames = [
        rows(algorithm, seeds + behind, metric, spectrum, step)
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


def of_datasets(seeds=3, algorithms=("map", "swag", "ensemble", "laplace"), widths=(50, 200)):
    """The first is always the best of its table, the last the worst."""
    return comparison_of(
        *[
            rows(name, place + np.arange(seeds) / 10, "function_wasserstein2", experiment="gp",
                 dataset=dataset, width=width, spectrum=None)
            for place, name in enumerate(algorithms)
            for dataset in ("boston", "concrete", "yacht", "energy")
            for width in widths
        ],
        reference="swag",
    )  # fmt: skip


def test_a_dataset_is_one_block_however_many_widths_it_has():
    found = ranking(of_datasets(), "function_wasserstein2")
    assert (found.blocks, found.called) == (4, "datasets")
    assert found.ranks.to_dict() == {"map": 1, "swag": 2, "ensemble": 3, "laplace": 4}


def test_a_diagram_names_every_algorithm_once():
    figure = draw_ranks(of_datasets(), "function_wasserstein2")
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert [texts.count(name) for name in ("MAP", "SWAG", "deep ensemble")] == [1, 1, 1]
    # 2.569 sqrt(4 5 / (6 4))
    assert "critical difference 2.35" in texts
    assert "Friedman's test over 4 datasets" in texts[-1]
    nothing = draw_ranks(of_datasets(algorithms=("map", "swag")), "function_wasserstein2")
    assert "not configured" in nothing.texts[0].get_text()


def test_a_table_says_what_was_shown():
    table = compared_rows(
        comparison_of(
            rows("batch_svd", np.arange(8.0)),
            rows("diagonal", np.arange(8.0) + 1 + 0.1 * np.arange(8)),
            rows("online_em", np.arange(8.0) - 1),
        ),
        METRIC,
    )
    assert table.set_index("algorithm")["shown"].to_dict() == {
        "online_em": "better", "diagonal": "worse"
    }  # fmt: skip
    text = caption(table, METRIC)
    assert "at T = 100, compared with batch SVD" in text
    assert "for all 2 lines; better and worse at 5 %." in text
    assert "in 0 of 2 lines" in text


def test_a_table_says_what_could_not_be_shown():
    table = compared_rows(
        comparison_of(rows("batch_svd", [1, 2, 3]), rows("diagonal", [1.1, 2, 3.3])), METRIC
    )
    assert table["shown"].tolist() == [""]
    text = caption(table, METRIC)
    assert (
        "3 pairs cannot show any difference at 5 %, because no adjusted p can be below 0.25" in text
    )
    assert "in 1 of 1 lines that is more than there are (!)" in text


def test_tables_in_all_formats(tmp_path):
    of_datasets(seeds=2).to_parquet(tmp_path / "gp.parquet")
    names = ["compared_function_wasserstein2", "ranks"]
    paths = [tmp_path / f"{name}.{kind}" for name in names for kind in FORMATS]
    write_tables(tmp_path / "gp.parquet", paths)
    markdown = paths[1].read_text()
    assert "| boston | 50 | deep ensemble | 1.0000 ± 0.0000 | 1.000 |  | 2 |" in markdown
    assert "splits of a table" in markdown
    assert r"& $1.0000 \pm 0.0000$ &" in paths[2].read_text()
    assert len(pd.read_csv(paths[0])) == 3 * 4 * 2
    assert "<td>1.0000 ± 0.0000</td><td>1.000</td><td></td><td>2</td>" in paths[3].read_text()
    ranks = paths[5].read_text()
    assert "| MAP | 1.00 | – |" in ranks
    assert "| critical difference | 2.35 | – |" in ranks
    assert "| Friedman's p | 0.0074 | – |" in ranks  # the tail of 12 beyond three degrees
