"""Tests of Figures 6.1 to 6.8, from small cells: their content and notes on missing data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from onlinefa_benchmark import experiments
from onlinefa_benchmark.analysis.summary import summarise
from onlinefa_benchmark.cells import Cell
from onlinefa_benchmark.execution.fit import compute, new_context
from onlinefa_benchmark.reporting.figures import write_figures
from onlinefa_benchmark.statistics.frames import entries
from onlinefa_benchmark.storage import result_file
from onlinefa_benchmark.storage.provenance import Provenance

pytestmark = pytest.mark.slow  # draws figures

PARAMETERS = {
    "root_seed": 1,
    "settings": {},
    "batch": 16,
    "warm_up": 2,
    "every": 2,
    "epochs": 22,
}
OF_ALGORITHMS = [f"figure_6_{number}" for number in range(1, 7)]
OF_WALKS = [f"figure_6_{number}" for number in range(8, 12)]
OF_A_TABLE = [*OF_ALGORITHMS, *OF_WALKS]


def rows_of(cell, read_table=None):
    context = replace(new_context([cell], Path()), read_table=read_table)
    (measurements,) = compute([cell], context)
    return result_file.measurement_table(cell, "digest", measurements, Provenance())


@pytest.fixture(scope="module")
def cells():
    """Return a function for the rows of a cell on a small table named yacht."""
    random = np.random.default_rng(0)
    inputs = random.normal(size=(60, 6))
    y = inputs @ random.normal(size=6) + random.normal(size=60)

    def of(algorithm, walk="reshuffled", K=1, seed=0, rate=0.05):
        axes = {"dataset": "yacht", "D": 7, "algorithm": algorithm, "walk": walk, "K": K}
        cell = Cell("linear", axes, seed, PARAMETERS | {"learning_rate": rate})
        return rows_of(cell, lambda name: (inputs, y))

    return of


def summary_of(*tables):
    rows = pa.concat_tables(tables).to_pandas()
    metrics = experiments.load(rows["experiment"].iloc[0]).all_metrics()
    return summarise(rows, metrics, ())


@pytest.fixture(scope="module")
def complete(cells):
    return summary_of(
        *(
            cells(algorithm, walk, K, seed)
            for algorithm in ("swag", "batch_ml")
            for walk in ("reshuffled", "replacement")
            for K in (1, 2)
            for seed in (0, 1)
        )
    )


def drawn(name, summary):
    experiment = experiments.load(summary["experiment"].iloc[0])
    (declared,) = (each for each in experiment.figures if each.name == name)
    figure = experiment.draw(declared, summary)
    figure.canvas.draw()
    plt.close(figure)
    return figure


def words(figure):
    """Return all text of a figure."""
    texts = [text.get_text() for text in figure.findobj(plt.Text)]
    return " | ".join(filter(None, texts))


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_ALGORITHMS)
def test_figures_describe_their_content(name, complete):
    text = words(drawn(name, complete))
    assert "over 2 seeds" in text
    assert "SWAG" in text and "maximum likelihood" in text
    assert "reshuffled" in text
    assert "diverged" not in text


def test_convergence_has_a_panel_per_number_of_factors(complete):
    titles = [axis.get_title() for axis in drawn("figure_6_3", complete).axes]
    assert titles == ["yacht, K = 1", "yacht, K = 2"]


def test_bars_are_at_least_as_high_as_the_distance(complete):
    for axis in drawn("figure_6_6", complete).axes:
        tops = [
            max(bar.get_y() + bar.get_height() for bar in bars)
            for bars in zip(*axis.containers[:4], strict=True)
        ]
        marks = axis.containers[4].lines[0].get_ydata()
        assert len(tops) == len(marks) == 2
        assert all(top >= mark > 0 for top, mark in zip(tops, marks, strict=True))


def test_heat_maps_show_the_covariances(complete):
    figure = drawn("figure_6_4", complete)
    panels = [axis for axis in figure.axes if axis.images]
    assert [axis.get_title() for axis in panels[:3]] == ["posterior", "maximum likelihood", "SWAG"]
    own = complete[(complete["walk"] == "reshuffled") & (complete["K"] == 2)]
    own = own[own["algorithm"] == "swag"]
    np.testing.assert_array_equal(panels[2].images[0].get_array(), entries(own, "covariance"))
    np.testing.assert_allclose(np.diag(panels[5].images[0].get_array()), 1)


@pytest.mark.parametrize("name", OF_A_TABLE)
def test_without_the_thesis_walk_a_figure_names_the_one_it_shows(name, cells):
    text = " ".join(words(drawn(name, summary_of(cells("swag", "replacement_averaged")))).split())
    assert "with replacement, averaged" in text  # titles are wrapped
    assert "one seed" in text


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_ALGORITHMS)
def test_a_diverged_seed_is_named(name, cells):
    some = summary_of(cells("swag"), cells("swag", seed=1, rate=1e9))
    assert "SWAG: 1 diverged of 2" in words(drawn(name, some))
    none = summary_of(cells("swag", rate=1e9), cells("swag", seed=1, rate=1e9))
    assert "SWAG: 2 diverged of 2" in words(drawn(name, none))


def test_walks_are_compared_by_one_algorithm(complete):
    figure = drawn("figure_6_8", complete)
    text = words(figure)
    assert "maximum likelihood, K = 2" in text
    assert "SWAG" not in text and "diverged" not in text
    (axis,) = figure.axes
    lines = {line.get_label(): line for line in axis.containers}
    assert list(lines) == ["SGD, reshuffled", "SGD, with replacement"]
    final = lines["SGD, reshuffled"].lines[0].get_ydata()[-1]
    rows = complete[(complete["algorithm"] == "batch_ml") & (complete["walk"] == "reshuffled")]
    last = rows[(rows["K"] == 2) & (rows["metric"] == "wasserstein2") & (rows["step"] == 22)]
    assert final == last["mean"].item()


def test_heat_maps_show_the_covariances_of_walks(complete):
    figure = drawn("figure_6_9", complete)
    panels = [axis for axis in figure.axes if axis.images]
    titles = [" ".join(axis.get_title().split()) for axis in panels[:3]]  # titles are wrapped
    assert titles == ["posterior", "SGD, reshuffled", "SGD, with replacement"]
    own = complete[(complete["walk"] == "replacement") & (complete["K"] == 2)]
    own = own[own["algorithm"] == "batch_ml"]
    np.testing.assert_array_equal(panels[2].images[0].get_array(), entries(own, "covariance"))


@pytest.mark.parametrize("name", ["figure_6_9", "figure_6_10"])
def test_figures_of_walks_name_their_algorithm(name, complete):
    text = words(drawn(name, complete))
    assert "walks described by maximum likelihood" in text
    assert "SWAG" not in text


@pytest.mark.parametrize("name", OF_WALKS)
def test_a_walk_whose_seeds_diverge_is_named(name, cells):
    some = summary_of(cells("swag"), cells("swag", seed=1, rate=1e9))
    text = " ".join(words(drawn(name, some)).split())  # notes are wrapped
    assert "SGD, reshuffled, yacht: 1 diverged of 2" in text


def test_a_walk_without_a_stationary_law_has_a_note_instead_of_a_bar(cells):
    fast = summary_of(cells("swag", rate=0.6))
    assert "no stationary law: its step is missing" in words(drawn("figure_6_6", fast))


def plane_summary(*algorithms, rate="0.1"):
    axes = {"dataset": "plane", "D": 2, "K": 1, "walk": rate}
    cells = [
        Cell("plane", axes | {"algorithm": name}, 0, PARAMETERS | {"batch": 100})
        for name in algorithms
    ]
    return summary_of(*(rows_of(cell) for cell in cells))


def test_the_plane_has_a_panel_per_rate_and_notes_points_outside_of_it():
    summary = pd.concat(
        [plane_summary("swag", "online_sga"), plane_summary("swag", "online_sga", rate="0.01")]
    )
    figure = drawn("figure_6_7", summary)
    assert [axis.get_title() for axis in figure.axes] == ["learning rate 0.1", "learning rate 0.01"]
    (note,) = figure.axes[0].texts
    assert note.get_text() == "online SGA: beyond the frame"


def test_the_plane_can_be_drawn_when_the_walk_diverges():
    assert "posterior" in words(drawn("figure_6_7", plane_summary("swag", rate="1e+09")))


@pytest.mark.slow
def test_all_figures_of_an_experiment_are_written(complete, tmp_path):
    linear = experiments.load("linear")
    result_file.write(pa.Table.from_pandas(complete), tmp_path / "summary.parquet")
    write_figures(linear, tmp_path / "summary.parquet", None, tmp_path / "figures")
    of_datasets = {"figure_6_4", "figure_6_5", "figure_6_9", "figure_6_10"}
    names = {*OF_A_TABLE} - of_datasets | {f"{name}_yacht" for name in of_datasets}
    written = [f"{name}.{suffix}" for name in names for suffix in ("png", "svg", "pdf")]
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == sorted(written)
    assert all(path.stat().st_size > 1000 for path in (tmp_path / "figures").iterdir())
