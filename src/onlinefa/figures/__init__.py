"""Figures: each reads one summary and fits nothing. One file per figure, found by its name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path

# The experiment whose summary a figure reads; without it in the configuration it is not drawn.
_EXPERIMENTS = {
    "figure_5_1": "synthetic",
    "figure_5_2": "synthetic",
    "figure_6_1": "linear",
    "figure_6_2": "linear",
    "figure_6_3": "linear",
    "figure_6_4": "linear",
    "figure_6_5": "linear",
    "figure_6_6": "linear",
    "figure_6_7": "plane",
}
_ONE_PER_DATASET = ("figure_6_4", "figure_6_5")

FORMATS = ("png", "svg", "pdf")


def figures_of(experiments: Iterable[str], datasets: Iterable[str]) -> dict[str, str]:
    """The figures of some experiments, each with the experiment whose summary it reads."""
    return {
        name: experiment
        for figure, experiment in _EXPERIMENTS.items()
        if experiment in experiments
        for name in (
            [f"{figure}_{dataset}" for dataset in datasets]
            if figure in _ONE_PER_DATASET
            else [figure]
        )
    }


def module_of(name: str) -> str:
    """The module that draws a figure."""
    return f"{__name__}.{_split(name)[0]}"


def draw(name: str, summary: Path, outputs: Sequence[Path]) -> None:
    """Draw a figure and save it under each path, in the format of its suffix."""
    from onlinefa.figures.style import save
    from onlinefa.summary import read_summary

    rows, (_, dataset) = read_summary(summary), _split(name)
    if dataset:
        rows = rows[rows["dataset"] == dataset]
    save(import_module(module_of(name)).draw(rows), outputs)


def _split(name: str) -> tuple[str, str]:
    """A figure's own name, and that of the dataset it is about, if it is about one."""
    for figure in _ONE_PER_DATASET:
        if name.startswith(f"{figure}_"):
            return figure, name.removeprefix(f"{figure}_")
    return name, ""
