"""Tests of the figures of deep networks on images."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from onlinefa_benchmark import experiments
from onlinefa_benchmark.datasets import images
from onlinefa_benchmark.experiments.images.evaluation import COVERAGES, DOUBTS
from onlinefa_benchmark.models.image_shifts import SHIFTS, STRENGTHS

ALGORITHMS = {"deep_map": (10.0, 0.3), "swag": (30.0, 0.25), "deep_ensemble": (20.0, 0.2)}
FIGURES = {figure.name: figure for figure in experiments.load("images").figures}


def rows_of(algorithm):
    _, loss = ALGORITHMS[algorithm]
    yield "class_nll", None, None, loss
    for i in range(len(DOUBTS) + 1):
        yield "bin_share", i, None, 1 / 7
        yield "confidence", i, None, 0.4 + 0.09 * i
        yield "bin_accuracy", i, None, 0.5 + 0.08 * i
    for i in range(len(SHIFTS)):
        for strength in STRENGTHS:
            yield "shift_nll", i, strength, loss * strength
    for coverage in COVERAGES:
        yield "selective_accuracy", coverage, None, 1 - loss * coverage / 200
    for place in range(3):
        yield "gallery_image", place, None, 100 + place
        for j in range(10):
            yield "gallery_probability", place, j, 0.1
            yield "gallery_map_probability", place, j, float(j == place)


@pytest.fixture
def summary():
    rows = [
        {
            "dataset": "digits",
            "architecture": "small",
            "D": 3658,
            "K": K,
            "algorithm": algorithm,
            "metric": metric,
            "i": i,
            "j": j,
            "mean": value,
            "standard_error": 0.01,
            "seconds": ALGORITHMS[algorithm][0],
            "seeds": 3,
            "ok": 3,
        }
        for K in (5, 10)
        for algorithm in ALGORITHMS
        for metric, i, j, value in rows_of(algorithm)
    ]
    return pd.DataFrame(rows)


@pytest.fixture
def draw(summary):
    def draw_figure(name, rows=summary):
        figure = experiments.load("images").draw(FIGURES[name], rows)
        figure.canvas.draw()
        return figure

    yield draw_figure
    plt.close("all")


@pytest.mark.parametrize("name", FIGURES)
def test_figures_without_values_say_so(name, draw, summary):
    figure = draw(name, summary.assign(mean=np.nan))
    (text,) = figure.texts
    assert text.get_text().startswith("not configured")


def test_reliability_has_a_panel_for_each_algorithm(draw):
    figure = draw("images_reliability")
    titles = [axis.get_title() for axis in figure.axes if axis.axison]
    assert titles == ["SWAG", "MAP", "deep ensemble"]
    points = np.asarray(figure.axes[0].collections[0].get_offsets())
    # Accuracy minus confidence: 10, 9, ..., 4 per cent at 1 - 0.4, 1 - 0.49, ...
    assert points[:, 0] == pytest.approx([0.6 - 0.09 * i for i in range(7)])
    assert points[:, 1] == pytest.approx([10 - i for i in range(7)])


def test_shift_has_a_panel_for_each_kind(draw):
    figure = draw("images_shift")
    assert [axis.get_title() for axis in figure.axes] == list(SHIFTS)
    lines = {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}
    assert lines["MAP"] == pytest.approx([0.3 * strength for strength in STRENGTHS])


def test_the_front_has_the_posteriors_that_none_beats(draw):
    figure = draw("images_front")
    assert len([axis for axis in figure.axes if axis.axison]) == 2  # two values of K
    front = figure.axes[0].lines[-1]
    # SWAG takes longer than the ensemble and is worse.
    assert front.get_xdata() == pytest.approx([10, 20])
    assert front.get_ydata() == pytest.approx([0.3, 0.2])


def test_selective_prediction_has_errors_of_the_most_confident_images(draw):
    figure = draw("images_selective")
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    assert lines["deep ensemble"].get_xdata() == pytest.approx([50, 60, 70, 80, 90, 95, 100])
    assert lines["deep ensemble"].get_ydata()[-1] == pytest.approx(10)


def test_the_gallery_shows_the_images_of_the_dataset(draw):
    figure = draw("images_gallery")
    # Two algorithms beside the trained network, and three places for each.
    assert len(figure.axes) == 2 * 6
    data = images.load("digits")
    shown = figure.axes[2].images[0].get_array()
    assert np.array_equal(shown, data.images[101, 0])
    names = [label.get_text() for label in figure.axes[3].get_yticklabels()]
    assert names[0] in ("1", "1*")  # the class of which the trained network is sure
    assert sum(name.endswith("*") for name in names) <= 1
