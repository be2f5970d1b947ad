"""Figures: each reads a summary or a comparison and fits nothing. One file each, by its name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from itertools import groupby
from pathlib import Path

# The experiment whose summary a figure reads; without it in the configuration it is not drawn.
FIGURES = {
    "figure_5_1": "synthetic",
    "figure_5_2": "synthetic",
    "time": "synthetic",
    "eigenvalues": "eigenvalues",
    "components": "components",
    "scale": "scale",
    "change": "change",
    "figure_6_1": "linear",
    "figure_6_2": "linear",
    "figure_6_3": "linear",
    "figure_6_4": "linear",
    "figure_6_5": "linear",
    "figure_6_6": "linear",
    "figure_6_7": "plane",
    "figure_7_1": "gp",
    "figure_7_2": "gp",
    "figure_7_3": "gp",
    "network": "network",
    "calibration": "network",
    "reliability": "digits",
    "gp_ranks": "gp",
    "network_ranks": "network",
}
# Those that read its comparison instead; without `compared_with` there is none.
OF_COMPARISONS = ("gp_ranks", "network_ranks")
_ONE_PER_DATASET = ("figure_6_4", "figure_6_5")

FORMATS = ("png", "svg", "pdf")


def files_of(figure: str, datasets: Iterable[str]) -> list[str]:
    """The files of a figure, in all formats: one picture, or one for each dataset."""
    one_each = figure in _ONE_PER_DATASET
    pictures = [f"{figure}_{dataset}" for dataset in datasets] if one_each else [figure]
    return [f"{picture}.{suffix}" for picture in pictures for suffix in FORMATS]


def draw(figure: str, rows: Path, outputs: Sequence[Path]) -> None:
    """Draw a figure's pictures and save each under its paths, in the formats of their suffixes."""
    import pandas as pd

    from onlinefa.figures.style import save

    module, read = import_module(f"{__name__}.{figure}"), pd.read_parquet(rows)
    for picture, paths in groupby(sorted(outputs), key=lambda path: path.stem):
        dataset = picture.removeprefix(figure).removeprefix("_")
        save(module.draw(read[read["dataset"] == dataset] if dataset else read), list(paths))
