"""Figures are laid out once and drawn once for each file, which is most of their time."""

import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure

from onlinefa.figures import FORMATS
from onlinefa.figures.style import save


@pytest.fixture
def heat_map():
    """A panel whose axes are equal, so that it shrinks when it is laid out."""
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


def test_panels_have_their_place_before_the_first_file_is_drawn(heat_map, tmp_path):
    given = heat_map.axes[0].get_position().bounds
    save(heat_map, [tmp_path / "figure.png"])
    saved = heat_map.axes[0].get_position().bounds
    save(heat_map, [tmp_path / "figure.pdf"])
    assert given != saved == heat_map.axes[0].get_position().bounds
