"""Tests that colours and markers distinguish algorithms, also for colour-blind readers."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from onlinefa_benchmark import algorithms, experiments
from onlinefa_benchmark.looks import _LOOKS, look, sort_algorithms

# Transformations of linear RGB (Machado, Oliveira and Fernandes 2009, severity 1).
SEEN_WITH = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}
TO_XYZ = np.array(
    [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
)  # of sRGB, with the white point of D65
WHITE = TO_XYZ.sum(axis=1)
# In CIELAB, a just noticeable difference is about 2; thin lines need a larger one.
NEARLY_EQUAL = 15
# Markers that cannot be distinguished at their size.
SHAPES = {"8": "o", "h": "o", "H": "o"}


def seen(colour, eyes):
    """Return a colour in CIELAB, as seen with a kind of colour vision."""
    rgb = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    t = TO_XYZ @ np.clip(SEEN_WITH[eyes] @ linear, 0, 1) / WHITE
    x, y, z = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def pairs():
    """Return all pairs of algorithms of an experiment, including variants with a style."""
    variants = set(_LOOKS) - set(algorithms.names())
    found = set()
    for name in experiments.names():
        known = experiments.load(name).Config.known_algorithms()
        known = [each.removeprefix(algorithms.DEEP) for each in known]
        found |= set(combinations(sorted({*known, *variants}), 2))
    return sorted(found)


def test_the_simulation_of_colour_vision():
    assert seen("#FFFFFF", "all cones") == pytest.approx([100, 0, 0], abs=0.05)
    assert seen("#FF0000", "all cones") == pytest.approx([53.2, 80.1, 67.2], abs=0.1)
    # This red and green differ in normal vision, and hardly without red or green cones.
    red, green = "#B04000", "#607000"
    distances = {eyes: np.linalg.norm(seen(red, eyes) - seen(green, eyes)) for eyes in SEEN_WITH}
    assert distances["all cones"] > 50
    assert distances["deuteranopia"] < NEARLY_EQUAL


def test_every_algorithm_has_a_separate_entry():
    names = algorithms.names()
    assert len(names) > 25
    assert {name.removeprefix(algorithms.DEEP) for name in names} <= set(_LOOKS)
    labels = [look(name).label for name in _LOOKS]
    assert len(set(labels)) == len(labels)
    assert sort_algorithms(sorted(_LOOKS)) == list(_LOOKS)
    taken = {(drawn.colour, drawn.marker) for drawn in _LOOKS.values()}
    others = {look(f"variant_{number}") for number in range(1000)}
    spare = {(drawn.colour, drawn.marker) for drawn in others}
    assert len(spare) > 20
    assert not spare & taken


@pytest.mark.parametrize("eyes", SEEN_WITH)
def test_similar_colours_have_different_markers(eyes):
    near = [
        (first, second)
        for first, second in pairs()
        if np.linalg.norm(seen(look(first).colour, eyes) - seen(look(second).colour, eyes))
        < NEARLY_EQUAL
    ]
    assert ("batch_ml", "nuts") in near  # both are black
    shapes = {name: SHAPES.get(drawn.marker, drawn.marker) for name, drawn in _LOOKS.items()}
    assert not {"|", "_", "+"} & set(shapes.values())  # hidden by error bars and lines
    assert [pair for pair in near if shapes[pair[0]] == shapes[pair[1]]] == []


def test_an_algorithm_without_an_entry_has_a_default_style_and_is_last():
    assert look("not_there_yet") == look("not_there_yet")
    assert look("not_there_yet").label == "not there yet"
    assert sort_algorithms(["zebra", "diagonal", "batch_svd"]) == ["batch_svd", "diagonal", "zebra"]
