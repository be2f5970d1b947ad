"""Figure 6.1: relative distance of the estimated from the posterior mean, against epochs."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from onlinefa.figures.chapter6 import draw_over_epochs


def draw(summary: pd.DataFrame) -> Figure:
    return draw_over_epochs(summary, "relative_mean_distance")
