"""Figure 5.1 against the time that fits take: speed and accuracy together."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure

from onlinefa.figures.chapter5 import LAYOUT, draw_over_samples


def draw(summary: pd.DataFrame) -> Figure:
    layout = replace(
        LAYOUT,
        x="seconds",
        x_label="seconds of fitting",
        place="{:.3g} s",
        note="markers: the same sample sizes T",
    )
    return draw_over_samples(summary, "relative_frobenius", layout)
