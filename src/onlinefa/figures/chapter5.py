"""What the figures of chapter 5 share: a row of panels per spectrum, a column per D and K."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from onlinefa.figures.convergence import Layout, draw_convergence
from onlinefa.presentation import bounds

LAYOUT = Layout(
    rows=["spectrum", "range"],
    columns=["D", "K"],
    title="D = {D}, K = {K}, $s^2$ ~ U({range})",
    x_label="number of samples T",
    x_scale="log",
    place="T = {:,}",
)


def draw_over_samples(summary: pd.DataFrame, metric: str, layout: Layout = LAYOUT) -> Figure:
    ranges = ["{:,}, {:,}".format(*bounds(spectrum)) for spectrum in summary["spectrum"]]
    return draw_convergence(summary.assign(range=ranges), metric, layout)
