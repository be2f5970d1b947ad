"""Summary, tables and figures, from rows made by hand with means that are known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from onlinefa.experiments import digits, gp, network, synthetic, walking
from onlinefa.figures import time
from onlinefa.figures.chapter5 import draw_over_samples
from onlinefa.presentation import METRICS, in_order, look
from onlinefa.stats import behind_best
from onlinefa.summary import summarise
from onlinefa.tables import METRICS as TABULATED
from onlinefa.tables.final import caption, final_rows, grid, to_markdown
from onlinefa.tables.latex import to_latex


def rows(algorithm, values, step=100, metric="relative_frobenius", D=10, spectrum="1-10"):
    """One row per seed; a value of None is a diverged fit."""
    return pd.DataFrame(
        {
            "experiment": "synthetic", "dataset": "algorithm_3", "walk": None,
            "algorithm": algorithm, "D": D, "K": 2, "spectrum": spectrum,
            "scale": np.nan, "width": np.nan, "seed": range(len(values)), "step": step,
            "metric": metric, "value": pd.Series(values, dtype=float),
            "status": ["diverged" if value is None else "ok" for value in values], "seconds": 1.0,
            "contract": "", "networks": np.nan,
        }
    )  # fmt: skip


def summary_of(*frames):
    return summarise(pd.concat(frames, ignore_index=True))


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


def test_summary_by_hand():
    (row,) = summary_of(rows("online_em", [1, 2, 3])).to_dict("records")
    assert row["mean"] == 2
    # Standard deviation (ddof 1) of 1, 2, 3 is 1, over the root of 3.
    assert row["standard_error"] == pytest.approx(1 / np.sqrt(3))
    assert (row["ok"], row["seeds"], row["statuses"]) == (3, 3, "")


def test_a_diverged_seed_is_counted_and_named_not_dropped():
    (row,) = summary_of(rows("online_sga", [1, None, 3])).to_dict("records")
    assert (row["mean"], row["ok"], row["seeds"]) == (2, 2, 3)
    assert row["statuses"] == "1 diverged"


def test_groups_are_kept_apart():
    summary = summary_of(
        rows("online_em", [1, 1]), rows("online_em", [2, 2], step=200),
        rows("online_em", [3, 3], D=20), rows("diagonal", [4, 4]),
    )  # fmt: skip
    assert sorted(summary["mean"]) == [1, 2, 3, 4]
    assert (summary["seeds"] == 2).all()


def test_best_and_as_good_as_the_best():
    summary = summary_of(
        rows("batch_ml", [0.9, 1.0, 1.1]),
        rows("batch_svd", [0.95, 0.9, 1.2]),  # behind by 0.05, -0.1, 0.1: 0.017 +- 0.060
        rows("online_em", [1.0, 1.1, 1.2]),  # behind by 0.1 for every seed
        rows("online_sga", [0.5, None, 0.5]),  # better, where it does not fail
    )
    table = final_rows(summary, "relative_frobenius")
    assert set(table[table["best"]]["algorithm"]) == {"batch_ml", "batch_svd"}
    markdown = to_markdown(table, "relative_frobenius")
    assert "**1.000 ± 0.058**" in markdown
    assert "| 1.100 ± 0.058 |" in markdown
    assert "(2/3)" in markdown
    latex = to_latex("best", caption(table, "relative_frobenius"), *grid(table))
    assert r"$\mathbf{1.000 \pm 0.058}$" in latex
    assert latex.count("&") == 2 * 6  # a header and one line, seven columns


def test_enormous_values_stay_short():
    table = final_rows(summary_of(rows("online_sga", [1e13, 3e13])), "relative_frobenius")
    assert "2.0e+13 ± 1.0e+13" in to_markdown(table, "relative_frobenius")


def test_an_error_that_is_not_finite_is_shown_and_makes_nothing_the_best():
    summary = summary_of(rows("batch_ml", [1.0, 2.0]), rows("online_sga", [1e200, 3e200]))
    table = final_rows(summary, "relative_frobenius")
    assert np.isinf(table["standard_error"]).tolist() == [True, False]
    markdown = to_markdown(table, "relative_frobenius")
    assert "| 2.0e+200 ± inf | **1.50 ± 0.50** |" in markdown


def test_a_value_without_an_error_has_few_digits():
    for values in [[0.27531692, 0.27531692], [0.27531692, 0.27531692 + 1e-17]]:
        table = final_rows(summary_of(rows("diagonal", values)), "relative_frobenius")
        assert "0.2753 ± 0.0000" in to_markdown(table, "relative_frobenius")


def test_digits_show_differences_that_the_seeds_would_hide():
    summary = summary_of(
        rows("batch_ml", [10.0, 20.0, 30.0]),
        rows("batch_svd", [10.1, 20.2, 30.3]),  # behind by 0.2 +- 0.058, with 5.8 for the mean
    )
    markdown = to_markdown(final_rows(summary, "relative_frobenius"), "relative_frobenius")
    assert "20.200 ± 5.831 | **20.000 ± 5.774**" in markdown


def test_higher_is_better_for_a_likelihood():
    name = "held_out_log_likelihood"
    summary = summary_of(
        rows("batch_ml", [-5, -5.1], metric=name), rows("diagonal", [-9, -9.1], metric=name)
    )
    table = final_rows(summary, name)
    assert list(table[table["best"]]["algorithm"]) == ["batch_ml"]


def test_only_the_largest_sample_size_is_in_the_table():
    summary = summary_of(rows("diagonal", [1, 1]), rows("diagonal", [2, 2], step=200))
    assert list(final_rows(summary, "relative_frobenius")["mean"]) == [2]


def test_an_algorithm_without_any_value_has_a_dash():
    summary = summary_of(rows("online_sga", [None, None]), rows("diagonal", [1, 2]))
    assert "| –" in to_markdown(final_rows(summary, "relative_frobenius"), "relative_frobenius")


def many_panels():
    frames = [
        rows(algorithm, np.array([1.0, 1.2]) * level / np.sqrt(T), T, D=D, spectrum=spectrum)
        for T in (100, 1000)
        for D in (10, 100)
        for spectrum in ("1-10", "1-100", "1-10000")
        for algorithm, level in [("batch_svd", 1), ("online_em", 2), ("diagonal", 3)]
    ]
    frames += [
        rows("online_sga", np.array([1.0, 1.1]) * (1e9 if spectrum == "1-10000" else 0.5), T, D=D,
             spectrum=spectrum)
        for T in (100, 1000) for D in (10, 100) for spectrum in ("1-10", "1-100", "1-10000")
    ]  # fmt: skip
    return summary_of(*frames)


def test_a_figure_has_a_panel_per_spectrum_and_dimension():
    figure = draw_over_samples(many_panels(), "relative_frobenius")
    panels = figure.axes
    assert len(panels) == 6
    titles = [panel.get_title() for panel in panels]
    assert "D = 10, " in titles[0] and "U(1, 10)" in titles[0]
    assert "D = 100, " in titles[5] and "U(1, 10,000)" in titles[5]
    for panel in panels:
        assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
        assert len(panel.get_legend_handles_labels()[1]) == 4


def test_a_swamping_algorithm_is_cut_off_and_the_panel_says_so():
    figure = draw_over_samples(many_panels(), "relative_frobenius")
    for panel in figure.axes:
        notes = " ".join(text.get_text() for text in panel.texts)
        if "10,000" in panel.get_title():
            assert "online SGA: off the scale, up to 1" in notes
            assert panel.get_ylim()[1] < 1e3
        else:
            assert notes == ""
            assert panel.get_ylim()[1] > 0.5


@pytest.mark.parametrize(
    ("at_100", "at_1000", "note"),
    [
        ([1, None], [1, None], "online SGA: 1 diverged of 2 at T = 1,000"),
        ([1, None], [None, None], "online SGA: 2 diverged of 2 at T = 1,000"),
        ([None, None], [None, None], "online SGA: 2 diverged of 2 at T = 1,000"),
    ],
)
def test_a_missing_seed_is_said_in_the_panel(at_100, at_1000, note):
    figure = draw_over_samples(
        summary_of(
            rows("online_sga", at_100), rows("online_sga", at_1000, step=1000),
            rows("diagonal", [1, 2]), rows("diagonal", [1, 2], step=1000),
        ),
        "relative_frobenius",
    )  # fmt: skip
    (panel,) = figure.axes
    assert [text.get_text() for text in panel.texts] == [note]
    assert panel.get_legend_handles_labels()[1] == ["online SGA", "diagonal control"]


def test_a_figure_without_any_value_can_be_drawn():
    figure = draw_over_samples(summary_of(rows("online_sga", [None, None])), "relative_frobenius")
    assert "2 diverged of 2" in figure.axes[0].texts[0].get_text()


def test_every_number_of_factors_has_its_own_panels():
    frames = [rows("diagonal", [1, 2]), rows("diagonal", [3, 4]).assign(K=5)]
    titles = [
        panel.get_title()
        for panel in draw_over_samples(summary_of(*frames), "relative_frobenius").axes
    ]
    assert len(titles) == 2
    assert "K = 2" in titles[0] and "K = 5" in titles[1]


def test_an_algorithm_without_an_entry_has_a_look_and_comes_last():
    assert look("not_there_yet") == look("not_there_yet")
    assert look("not_there_yet").label == "not there yet"
    assert in_order(["zebra", "diagonal", "batch_svd"]) == ["batch_svd", "diagonal", "zebra"]


def test_many_panels_in_one_row_are_folded():
    frames = [rows("diagonal", [1, 2], step=T, D=D) for T in (100, 200) for D in (10, 20, 30, 40)]
    figure = draw_over_samples(summary_of(*frames), "relative_frobenius")
    assert [panel.get_title()[:6] for panel in figure.axes] == [
        "D = 10",
        "D = 20",
        "D = 30",
        "D = 40",
    ]
    assert [panel.get_subplotspec().colspan.start for panel in figure.axes] == [0, 1, 2, 0]
    # What has nothing below it has the label.
    labelled = [bool(panel.get_xlabel()) for panel in figure.axes]
    assert labelled == [False, True, True, True]


def test_what_swamps_others_is_cut_off_against_seconds_too():
    quick = [rows("diagonal", [0.1, 0.1], step=T).assign(seconds=T) for T in (100, 200)]
    slow = [rows("batch_ml", [0.2, 0.2], step=T).assign(seconds=2 * T) for T in (100, 200)]
    wild = [rows("online_sga", [1e9, 1e9], step=T).assign(seconds=3 * T) for T in (100, 200)]
    (panel,) = time.draw(summary_of(*quick, *slow, *wild)).axes
    assert panel.get_ylim()[1] < 2  # the median is 0.2, and ten times as much is shown
    assert "online SGA: off the scale, up to 1e+09" in panel.texts[0].get_text()


def test_every_metric_has_a_label_and_a_table():
    assert set(METRICS) == {
        *synthetic.METRICS,
        *walking.METRICS,
        *gp.METRICS,
        *TABULATED["network"],
        *TABULATED["digits"],
        "components_off",
        "components_right",
    }
    assert set(TABULATED["synthetic"]) == set(synthetic.METRICS)
    assert set(TABULATED["linear"]) == set(TABULATED["plane"]) == set(walking.METRICS)
    assert set(TABULATED["gp"]) == set(gp.METRICS)
    assert set(TABULATED["network"]) == network.CONTRACTS.keys() - {"calibration"}
    assert set(TABULATED["digits"]) <= digits.CONTRACTS.keys()
