"""Figure 5.2: 2-Wasserstein distance of the estimated Gaussian from the true one, against T."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from onlinefa.figures.convergence import draw_convergence


def draw(summary: pd.DataFrame) -> Figure:
    return draw_convergence(summary, "wasserstein2")
