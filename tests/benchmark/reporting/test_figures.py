"""Tests of the files of figures: their names, and how they are saved."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure

from onlinefa_benchmark import experiments
from onlinefa_benchmark.plotting import style  # noqa: F401  (sets the style)
from onlinefa_benchmark.reporting.figures import FORMATS, picture_files, save

pytestmark = pytest.mark.slow  # draws figures


@pytest.fixture
def heat_map():
    """Return a figure with equal axes, so that its panel shrinks in the layout."""
    figure, axis = plt.subplots(layout="constrained")
    axis.imshow([[0, 1], [2, 3]])
    axis.set_ylabel("a label\nof two lines")
    yield figure
    plt.close(figure)


def test_every_file_is_drawn_once(heat_map, tmp_path, monkeypatch):
    drawn = []
    draw = Figure.draw
    monkeypatch.setattr(Figure, "draw", lambda self, *given: drawn.append(draw(self, *given)))
    save(heat_map, [tmp_path / f"figure.{kind}" for kind in FORMATS])
    assert len(drawn) == len(FORMATS)


def test_the_layout_is_final_before_the_first_file_is_drawn(heat_map, tmp_path):
    given = heat_map.axes[0].get_position().bounds
    save(heat_map, [tmp_path / "figure.png"])
    saved = heat_map.axes[0].get_position().bounds
    save(heat_map, [tmp_path / "figure.pdf"])
    assert given != saved == heat_map.axes[0].get_position().bounds


def test_figures_per_dataset_have_a_file_for_each_dataset():
    linear = experiments.load("linear")
    files = picture_files(linear, ["boston", "yacht"], is_compared=False)
    assert [f"figure_6_1.{suffix}" for suffix in FORMATS] == files[:3]
    assert len([file for file in files if file.startswith("figure_6_5")]) == 6
    assert "figure_6_5_yacht.svg" in files


def test_figures_of_comparisons_exist_only_if_there_is_a_comparison():
    network = experiments.load("network")
    assert "network_ranks.png" in picture_files(network, [], is_compared=True)
    assert "network_ranks.png" not in picture_files(network, [], is_compared=False)
