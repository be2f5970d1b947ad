"""Tests of the figures of chapter 5, from rows made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from support.result_rows import make_rows, summary_of

from onlinefa_benchmark import experiments
from onlinefa_benchmark.experiments.synthetic.figures import figure_5_1, time

pytestmark = pytest.mark.slow  # draws figures

EXPERIMENT = experiments.load("synthetic")


def many_panels():
    frames = [
        make_rows(
            algorithm, np.array([1.0, 1.2]) * level / np.sqrt(T), step=T, D=D, spectrum=spectrum
        )
        for T in (100, 1000)
        for D in (10, 100)
        for spectrum in ("1-10", "1-100", "1-10000")
        for algorithm, level in [("batch_svd", 1), ("online_em", 2), ("diagonal", 3)]
    ]
    frames += [
        make_rows(
            "online_sga",
            np.array([1.0, 1.1]) * (1e9 if spectrum == "1-10000" else 0.5),
            step=T,
            D=D,
            spectrum=spectrum,
        )
        for T in (100, 1000)
        for D in (10, 100)
        for spectrum in ("1-10", "1-100", "1-10000")
    ]
    return summary_of(*frames)


def test_a_figure_has_a_panel_per_spectrum_and_dimension():
    figure = figure_5_1(EXPERIMENT, many_panels())
    panels = figure.axes
    assert len(panels) == 6
    titles = [panel.get_title() for panel in panels]
    assert "D = 10, " in titles[0] and "U(1, 10)" in titles[0]
    assert "D = 100, " in titles[5] and "U(1, 10,000)" in titles[5]
    for panel in panels:
        assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
        assert len(panel.get_legend_handles_labels()[1]) == 4


def test_values_off_the_scale_are_cut_off_with_a_note():
    figure = figure_5_1(EXPERIMENT, many_panels())
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
def test_diverged_seeds_are_noted_in_the_panel(at_100, at_1000, note):
    figure = figure_5_1(
        EXPERIMENT,
        summary_of(
            make_rows("online_sga", at_100),
            make_rows("online_sga", at_1000, step=1000),
            make_rows("diagonal", [1, 2]),
            make_rows("diagonal", [1, 2], step=1000),
        ),
    )
    (panel,) = figure.axes
    assert [text.get_text() for text in panel.texts] == [note]
    assert panel.get_legend_handles_labels()[1] == ["online SGA", "diagonal control"]


def test_a_figure_without_any_value_can_be_drawn():
    figure = figure_5_1(EXPERIMENT, summary_of(make_rows("online_sga", [None, None])))
    assert "2 diverged of 2" in figure.axes[0].texts[0].get_text()


def test_every_number_of_factors_has_its_own_panels():
    frames = [make_rows("diagonal", [1, 2]), make_rows("diagonal", [3, 4]).assign(K=5)]
    titles = [panel.get_title() for panel in figure_5_1(EXPERIMENT, summary_of(*frames)).axes]
    assert len(titles) == 2
    assert "K = 2" in titles[0] and "K = 5" in titles[1]


def test_many_panels_in_one_row_are_folded():
    frames = [
        make_rows("diagonal", [1, 2], step=T, D=D) for T in (100, 200) for D in (10, 20, 30, 40)
    ]
    figure = figure_5_1(EXPERIMENT, summary_of(*frames))
    assert [panel.get_title()[:6] for panel in figure.axes] == [
        "D = 10",
        "D = 20",
        "D = 30",
        "D = 40",
    ]
    assert [panel.get_subplotspec().colspan.start for panel in figure.axes] == [0, 1, 2, 0]
    # Panels without another one below have an axis label.
    labelled = [bool(panel.get_xlabel()) for panel in figure.axes]
    assert labelled == [False, True, True, True]


def test_values_off_the_scale_are_cut_off_in_figures_of_time():
    quick = [make_rows("diagonal", [0.1, 0.1], step=T).assign(seconds=T) for T in (100, 200)]
    slow = [make_rows("batch_ml", [0.2, 0.2], step=T).assign(seconds=2 * T) for T in (100, 200)]
    wild = [make_rows("online_sga", [1e9, 1e9], step=T).assign(seconds=3 * T) for T in (100, 200)]
    (panel,) = time(EXPERIMENT, summary_of(*quick, *slow, *wild)).axes
    assert panel.get_ylim()[1] < 2  # ten times the median, 0.2
    assert "online SGA: off the scale, up to 1e+09" in panel.texts[0].get_text()
