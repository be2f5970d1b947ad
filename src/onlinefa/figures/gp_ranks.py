"""Ranks of posteriors of networks by their distance from the Gaussian process."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from onlinefa.figures.ranks import draw_ranks


def draw(comparison: pd.DataFrame) -> Figure:
    return draw_ranks(comparison, "function_wasserstein2")
