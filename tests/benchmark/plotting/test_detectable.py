"""Tests of curves of detectable differences."""

from __future__ import annotations

import numpy as np
import pytest
from support.result_rows import METRIC, comparison_of, make_rows

from onlinefa_benchmark import experiments
from onlinefa_benchmark.plotting.detectable import draw_detectable
from onlinefa_benchmark.statistics.significance import detectable_difference

SYNTHETIC = experiments.load("synthetic")


def draw(*frames, overlap=0.0):
    metric = SYNTHETIC.all_metrics()[METRIC]
    return draw_detectable(comparison_of(*frames), metric, SYNTHETIC.setting_axes, overlap)


def test_a_line_for_each_setting_and_a_point_at_its_number_of_seeds():
    frames = [
        frame
        for spectrum, deviation in (("1-10", 1.0), ("1-100", 3.0))
        for frame in (
            make_rows("batch_svd", np.zeros(4), spectrum=spectrum),
            # Differences of -d and d, twice: their standard deviation is d sqrt(4/3).
            make_rows("diagonal", deviation * np.array([-1, 1, -1, 1]), spectrum=spectrum),
        )
    ]
    axis = draw(*frames, overlap=1 / 9).axes[0]
    curves, points = axis.lines[::2], axis.lines[1::2]
    assert [line.get_xdata().tolist() for line in points] == [[4], [4]]
    for deviation, curve, point in zip((1.0, 3.0), curves, points, strict=True):
        sd = np.array(deviation * np.sqrt(4 / 3))
        expected = detectable_difference(sd, np.array([4]), 1 / 9)
        assert point.get_ydata() == pytest.approx(expected)
        x, y = curve.get_data()
        assert y == pytest.approx(detectable_difference(sd, x, 1 / 9))
        assert (np.diff(y) < 0).all()
    assert [text.get_text() for text in axis.texts] == ["[1, 10]", "[1, 100]"]


def test_one_seed_is_not_drawn():
    figure = draw(make_rows("batch_svd", [1.0]), make_rows("diagonal", [2.0]))
    assert not figure.axes or not figure.axes[0].lines
