"""Figure 5.2: 2-Wasserstein distance of the estimated Gaussian from the true one, against T."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from onlinefa.figures.chapter5 import draw_over_samples


def draw(summary: pd.DataFrame) -> Figure:
    return draw_over_samples(summary, "wasserstein2")
