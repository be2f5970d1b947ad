"""Algorithms look different from one another, to colour-blind readers too; figures have words."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest

from onlinefa import estimators, posteriors
from onlinefa.config import EXPERIMENTS
from onlinefa.figures import FIGURES
from onlinefa.figures.alternative_text import ALTERNATIVE_TEXTS, alternative_text
from onlinefa.presentation import _LOOKS, in_order, look, title_of_figure, title_of_table
from onlinefa.presentation import EXPERIMENTS as TITLES

# Of linear RGB (Machado, Oliveira and Fernandes 2009, severity 1).
SEEN_WITH = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
         [-0.011820, 0.042940, 0.968881]]
    ),
}  # fmt: skip
TO_XYZ = np.array(
    [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
)  # of sRGB, with the white point of D65
WHITE = TO_XYZ.sum(axis=1)
# CIELAB: a just noticeable difference is about 2, and lines are thin.
NEARLY_EQUAL = 15
# Markers that look the same at the size that they have.
SHAPES = {"8": "o", "h": "o", "H": "o"}


def seen(colour, eyes):
    """A colour in CIELAB, as who has such eyes sees it."""
    rgb = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    t = TO_XYZ @ np.clip(SEEN_WITH[eyes] @ linear, 0, 1) / WHITE
    x, y, z = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def pairs():
    """All pairs of algorithms that one experiment may have, and the variants that have a look."""
    variants = set(_LOOKS) - set(estimators.names()) - set(posteriors.names())
    found = set()
    for grid in EXPERIMENTS.values():
        found |= set(combinations(sorted({*grid.known_algorithms(), *variants}), 2))
    return sorted(found)


def test_the_colours_that_the_eyes_are_tested_with():
    assert seen("#FFFFFF", "all cones") == pytest.approx([100, 0, 0], abs=0.05)
    assert seen("#FF0000", "all cones") == pytest.approx([53.2, 80.1, 67.2], abs=0.1)
    # A red and a green that are far apart, and are not without the cones for it.
    red, green = "#B04000", "#607000"
    distances = {eyes: np.linalg.norm(seen(red, eyes) - seen(green, eyes)) for eyes in SEEN_WITH}
    assert distances["all cones"] > 50
    assert distances["deuteranopia"] < NEARLY_EQUAL


def test_every_algorithm_has_an_entry_of_its_own():
    names = [*estimators.names(), *posteriors.names()]
    assert len(names) > 25
    assert set(names) <= set(_LOOKS)
    labels = [look(name).label for name in _LOOKS]
    assert len(set(labels)) == len(labels)
    assert in_order(sorted(_LOOKS)) == list(_LOOKS)
    taken = {(drawn.colour, drawn.marker) for drawn in _LOOKS.values()}
    others = {look(f"variant_{number}") for number in range(1000)}
    spare = {(drawn.colour, drawn.marker) for drawn in others}
    assert len(spare) > 20
    assert not spare & taken


@pytest.mark.parametrize("eyes", SEEN_WITH)
def test_what_has_nearly_one_colour_has_two_markers(eyes):
    near = [
        (first, second)
        for first, second in pairs()
        if np.linalg.norm(seen(look(first).colour, eyes) - seen(look(second).colour, eyes))
        < NEARLY_EQUAL
    ]
    assert ("batch_ml", "nuts") in near  # both are black
    shapes = {name: SHAPES.get(drawn.marker, drawn.marker) for name, drawn in _LOOKS.items()}
    assert not {"|", "_", "+"} & set(shapes.values())  # which error bars and lines would hide
    assert [pair for pair in near if shapes[pair[0]] == shapes[pair[1]]] == []


def test_every_figure_is_described_in_words():
    assert list(ALTERNATIVE_TEXTS) == list(FIGURES)
    texts = list(ALTERNATIVE_TEXTS.values())
    assert len(set(texts)) == len(texts)
    for text in texts:
        assert 80 < len(text) < 300
        assert len(re.findall(r"[.](?: [A-Z]|$)", text)) <= 2
        assert re.fullmatch(r"[A-Z0-9].*\.", text)
    picture = alternative_text("figure_6_4", "winequality_red")
    assert picture.endswith(" below. Dataset: winequality red.")


def test_titles_of_a_report():
    assert list(TITLES) == list(EXPERIMENTS)
    assert len(set(TITLES.values())) == len(TITLES)
    assert title_of_figure("figure_5_1") == "Figure 5.1"
    assert title_of_figure("figure_6_4_winequality_red") == "Figure 6.4 winequality red"
    assert title_of_figure("network_ranks") == "Network ranks"
    assert title_of_table("table_6_1") == "Table 6.1"
    assert title_of_table("compared_accuracy") == "Accuracy, compared"
    assert title_of_table("test_crps") == "Test CRPS (units of y)"
