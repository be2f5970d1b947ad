"""Error against T when the true model is replaced on the way."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure

from onlinefa.figures.chapter5 import LAYOUT, draw_over_samples


def draw(summary: pd.DataFrame) -> Figure:
    layout = replace(LAYOUT, x_scale="linear", note="distance from the model of the moment")
    return draw_over_samples(summary, "relative_frobenius", layout)
