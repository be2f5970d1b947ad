"""Figure 6.3: 2-Wasserstein distance of the estimate from the posterior, against epochs."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from onlinefa.figures.chapter6 import draw_over_epochs


def draw(summary: pd.DataFrame) -> Figure:
    return draw_over_epochs(
        summary,
        "wasserstein2",
        lines={"loss_of_sgd": "the law that SGD settles into"},
        numbers={"floor_of_rank": "best factor analysis of the posterior"},
    )
