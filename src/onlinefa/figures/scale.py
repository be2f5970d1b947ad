"""Error against the units of the data: a flat line for algorithms that units do not matter to."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure

from onlinefa.figures.chapter5 import LAYOUT, draw_over_samples


def draw(summary: pd.DataFrame) -> Figure:
    last = summary[summary["step"] == summary["step"].max()]
    layout = replace(
        LAYOUT,
        x="scale",
        x_label="observations multiplied by",
        place="times {:g}",
        note=f"T = {last['step'].max():,}",
    )
    return draw_over_samples(last, "relative_frobenius", layout)
