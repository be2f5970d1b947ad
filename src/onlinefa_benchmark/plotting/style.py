"""The common style of all figures, set on import."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.figure import Figure

sns.set_theme(context="paper", style="ticks", font_scale=1.1)
matplotlib.rcParams |= {
    "axes.grid": True,
    "figure.constrained_layout.h_pad": 0.06,
    "figure.constrained_layout.w_pad": 0.08,
    "figure.dpi": 160,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "pdf.fonttype": 42,  # text is stored as text, not as shapes
    "svg.fonttype": "none",
    "svg.hashsalt": "onlinefa",  # the same figure gives the same file
}


def draw_placeholder(missing: str) -> Figure:
    """Return a figure that names what is missing, in place of one that cannot be drawn."""
    figure = plt.figure(figsize=(5, 1.5))
    figure.text(0.5, 0.5, f"not configured: {missing}", ha="center")
    return figure
