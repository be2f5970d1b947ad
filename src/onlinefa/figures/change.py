"""Error against T when the true model is replaced on the way."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure

from onlinefa.figures.chapter5 import LAYOUT, draw_over_samples


def draw(summary: pd.DataFrame) -> Figure:
    layout = replace(
        LAYOUT, x_scale="linear", note="distance from the model of the moment, which changes there"
    )
    figure = draw_over_samples(summary, "relative_frobenius", layout)
    changed = summary[summary["metric"] == "changed"]
    for axis in figure.axes:
        axis.axvline(
            changed.loc[changed["mean"] == 0, "step"].max(), color="#333333", linestyle=":"
        )
    return figure
