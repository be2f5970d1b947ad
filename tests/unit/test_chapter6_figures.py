"""Figures 6.1 to 6.7, from small cells: what they show, and what they say is missing."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from onlinefa import data, results
from onlinefa.cell import Cell
from onlinefa.experiments import linear, plane
from onlinefa.figures import FIGURES, draw, files_of
from onlinefa.figures.chapter6 import entries
from onlinefa.provenance import Provenance
from onlinefa.summary import summarise

PARAMETERS = {
    "root_seed": 1, "settings": {}, "batch": 16, "warm_up": 2, "every": 2, "epochs": 22,
}  # fmt: skip
OF_A_TABLE = ["figure_6_1", "figure_6_2", "figure_6_3", "figure_6_4", "figure_6_5", "figure_6_6"]


def rows_of(run, cell):
    return results.table_of(cell, "digest", list(run(cell, Path())), Provenance())


@pytest.fixture(scope="module")
def cells():
    """Rows by algorithm, walk, K, seed and learning rate, on a small table named yacht."""
    random = np.random.default_rng(0)
    inputs = random.normal(size=(60, 6))
    y = inputs @ random.normal(size=6) + random.normal(size=60)

    def of(algorithm, walk="reshuffled", K=1, seed=0, rate=0.05):
        axes = {"dataset": "yacht", "D": 7, "algorithm": algorithm, "walk": walk, "K": K}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(linear.data, "read", lambda name, folder: (inputs, y))
            return rows_of(
                linear.run, Cell("linear", axes, seed, PARAMETERS | {"learning_rate": rate})
            )

    return of


def summary_of(*tables):
    return summarise(pa.concat_tables(tables).to_pandas())


@pytest.fixture(scope="module")
def complete(cells):
    return summary_of(
        *(cells(algorithm, walk, K, seed) for algorithm in ("swag", "batch_ml")
          for walk in ("reshuffled", "replacement") for K in (1, 2) for seed in (0, 1))
    )  # fmt: skip


def drawn(name, summary):
    figure = import_module(f"onlinefa.figures.{name}").draw(summary)
    figure.canvas.draw()
    plt.close(figure)
    return figure


def words(figure):
    """All that is written in a figure."""
    texts = [text.get_text() for text in figure.findobj(plt.Text)]
    return " | ".join(filter(None, texts))


@pytest.mark.parametrize("name", OF_A_TABLE)
def test_a_figure_says_what_it_shows(name, complete):
    text = words(drawn(name, complete))
    assert "over 2 seeds" in text
    assert "SWAG" in text and "maximum likelihood" in text
    assert "reshuffled" in text
    assert "diverged" not in text


def test_convergence_has_a_panel_per_number_of_factors(complete):
    titles = [axis.get_title() for axis in drawn("figure_6_3", complete).axes]
    assert titles == ["yacht, K = 1", "yacht, K = 2"]


def test_bars_reach_at_least_the_distance(complete):
    for axis in drawn("figure_6_6", complete).axes:
        tops = [max(bar.get_y() + bar.get_height() for bar in bars)
                for bars in zip(*axis.containers[:4], strict=True)]  # fmt: skip
        marks = axis.containers[4].lines[0].get_ydata()
        assert len(tops) == len(marks) == 2
        assert all(top >= mark > 0 for top, mark in zip(tops, marks, strict=True))


def test_heat_maps_are_the_covariances(complete):
    figure = drawn("figure_6_4", complete)
    panels = [axis for axis in figure.axes if axis.images]
    assert [axis.get_title() for axis in panels[:3]] == ["posterior", "maximum likelihood", "SWAG"]
    own = complete[(complete["walk"] == "reshuffled") & (complete["K"] == 2)]
    own = own[own["algorithm"] == "swag"]
    np.testing.assert_array_equal(panels[2].images[0].get_array(), entries(own, "covariance"))
    np.testing.assert_allclose(np.diag(panels[5].images[0].get_array()), 1)


@pytest.mark.parametrize("name", OF_A_TABLE)
def test_without_the_thesis_walk_a_figure_names_the_one_it_shows(name, cells):
    text = words(drawn(name, summary_of(cells("swag", "replacement_averaged"))))
    assert "with replacement, averaged" in text
    assert "one seed" in text


@pytest.mark.parametrize("name", OF_A_TABLE)
def test_a_diverged_seed_is_named(name, cells):
    some = summary_of(cells("swag"), cells("swag", seed=1, rate=1e9))
    assert "SWAG: 1 diverged of 2" in words(drawn(name, some))
    none = summary_of(cells("swag", rate=1e9), cells("swag", seed=1, rate=1e9))
    assert "SWAG: 2 diverged of 2" in words(drawn(name, none))


def test_a_walk_that_never_settles_has_no_bar_for_its_law_and_says_so(cells):
    fast = summary_of(cells("swag", rate=0.6))
    assert "SGD does not settle" in words(drawn("figure_6_6", fast))


def plane_summary(*algorithms, rate="0.1"):
    axes = {"dataset": "plane", "D": 2, "K": 1, "walk": rate}
    cells = [
        Cell("plane", axes | {"algorithm": name}, 0, PARAMETERS | {"batch": 100})
        for name in algorithms
    ]
    return summary_of(*(rows_of(plane.run, cell) for cell in cells))


def test_the_plane_shows_a_panel_per_rate_and_what_is_beyond_its_frame():
    summary = pd.concat(
        [plane_summary("swag", "online_sga"), plane_summary("swag", "online_sga", rate="0.01")]
    )
    figure = drawn("figure_6_7", summary)
    assert [axis.get_title() for axis in figure.axes] == ["learning rate 0.1", "learning rate 0.01"]
    (note,) = figure.axes[0].texts
    assert note.get_text() == "online SGA: beyond the frame"


def test_the_plane_can_be_drawn_when_the_walk_diverges():
    assert "posterior" in words(drawn("figure_6_7", plane_summary("swag", rate="1e+09")))


def test_one_picture_per_dataset(complete, tmp_path):
    assert files_of("figure_6_1", ["a", "b"]) == [f"figure_6_1.{x}" for x in ("png", "svg", "pdf")]
    assert len(files_of("figure_6_5", ["boston", "yacht"])) == 6
    results.write(pa.Table.from_pandas(complete), tmp_path / "summary.parquet")
    draw("figure_6_5", tmp_path / "summary.parquet", [tmp_path / "figure_6_5_yacht.png"])
    assert (tmp_path / "figure_6_5_yacht.png").stat().st_size > 1000
    assert set(OF_A_TABLE) < set(FIGURES)
    assert data.table("yacht").title == "Yacht Hydrodynamics"
