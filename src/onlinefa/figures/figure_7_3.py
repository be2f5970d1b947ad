"""Figure 7.3: the Gaussian process on a number of features, against the exact one."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure

from onlinefa.figures.chapter7 import LAYOUT, name_widths
from onlinefa.figures.convergence import draw_convergence
from onlinefa.figures.style import nothing_to_draw
from onlinefa.presentation import FEATURES

_ROUNDING = 1e-4


def draw(summary: pd.DataFrame) -> Figure:
    """A panel per dataset."""
    rows = summary[summary["algorithm"].isin(FEATURES)]
    if rows.empty:
        return nothing_to_draw(", ".join(FEATURES))
    # With a landmark at every row nothing is left but rounding, which would squeeze the rest.
    distances = rows["metric"] == "function_wasserstein2"
    rows = rows[~distances | (rows["mean"] > _ROUNDING)]
    note = (
        "random Fourier features: another process, that of the squared exponential; "
        "Nystrom: exact, and left out, with as many landmarks as rows"
    )
    layout = replace(LAYOUT, x_label="number of features", place="{:,} features", note=note)
    figure = draw_convergence(rows, "function_wasserstein2", layout)
    for axis in figure.axes:
        name_widths(axis, rows)
    return figure
