"""Figures: each reads one summary and fits nothing. One file per figure, found by its name."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

# The experiment whose summary a figure reads; without it in the configuration it is not drawn.
FIGURES = {"figure_5_1": "synthetic", "figure_5_2": "synthetic"}

FORMATS = ("png", "svg", "pdf")


def draw(name: str, summary: Path, outputs: Sequence[Path]) -> None:
    """Draw a figure and save it under each path, in the format of its suffix."""
    from onlinefa.figures.style import save
    from onlinefa.summary import read_summary

    figure = import_module(f"{__name__}.{name}").draw(read_summary(summary))
    save(figure, outputs)
