"""Grids of panels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from onlinefa_benchmark.plotting import style  # noqa: F401  (sets the style)

MOST_ACROSS = 4  # a page is not wide enough for more


def new_panels(
    number: int,
    size: Callable[[int, int], tuple[float, float]],
    *,
    sharex: bool = False,
    sharey: bool = False,
) -> tuple[Figure, Any]:
    """Return a figure with a number of panels; the rest of the last row is empty.

    Parameters
    ----------
    number : int
        Number of panels.
    size : callable
        Return width and height of the figure in inches, given its columns and rows of panels.
    sharex, sharey : bool, default=False
        Whether all panels have the same axis, as in `matplotlib.pyplot.subplots`.

    Returns
    -------
    figure : matplotlib.figure.Figure
        The figure.
    axes : ndarray of shape (rows, columns)
        Axes of all panels.
    """
    across = min(MOST_ACROSS, number)
    down = -(-number // across)
    figure, axes = plt.subplots(
        down,
        across,
        sharex=sharex,
        sharey=sharey,
        squeeze=False,
        layout="constrained",
        figsize=size(across, down),
    )
    for axis in axes.flat[number:]:
        axis.set_axis_off()
    return figure, axes
