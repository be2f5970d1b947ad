"""What the figures of chapter 7 share."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from onlinefa.figures.convergence import Layout
from onlinefa.presentation import FEATURES

LAYOUT = Layout(
    rows=["K"],
    columns=["dataset"],
    title="{dataset}",
    x_label="hidden units",
    x_scale="log",
    place="width {:,}",
    x="width",
    headroom=4,
)


def name_widths(axis: Axes, rows: pd.DataFrame) -> None:
    """Ticks where there are networks, and nowhere else."""
    widths = sorted(rows["width"].unique())
    axis.set_xticks(widths, [f"{width:g}" for width in widths], minor=False)
    axis.set_xticks([], minor=True)


def without_features(summary: pd.DataFrame) -> pd.DataFrame:
    """The rows of networks: neither the process itself nor what approximates it by features."""
    return summary[~summary["algorithm"].isin([*FEATURES, "gaussian_process"])]
