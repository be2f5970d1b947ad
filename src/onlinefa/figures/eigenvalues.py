"""Figure 5.1 with models whose range of s^2 is that of the eigenvalues of F F'."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure

from onlinefa.figures.chapter5 import LAYOUT, draw_over_samples


def draw(summary: pd.DataFrame) -> Figure:
    layout = replace(LAYOUT, title="D = {D}, K = {K}, eigenvalues ~ U({range})")
    return draw_over_samples(summary, "relative_frobenius", layout)
