"""The common style of all figures, and how they are saved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.figure import Figure

from onlinefa.files import atomic

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
    "pdf.fonttype": 42,  # text stays text
    "svg.fonttype": "none",
    "svg.hashsalt": "onlinefa",  # the same figure is the same file
}


def save(figure: Figure, outputs: Sequence[Path]) -> None:
    """Save in the format of each suffix, without a date, so that files can be compared."""
    undated = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    if layout := figure.get_layout_engine():
        # Once for all files. The second pass sees how far panels with equal axes have shrunk.
        layout.execute(figure)
        layout.execute(figure)
        figure.set_layout_engine(None)  # for "none", matplotlib would draw each file twice
    for path in outputs:
        kind = path.suffix[1:]
        with atomic(path) as temporary:
            figure.savefig(temporary, format=kind, metadata=undated[kind])


def nothing_to_draw(missing: str) -> Figure:
    """In place of a figure whose rows were not asked for."""
    figure = plt.figure(figsize=(5, 1.5))
    figure.text(0.5, 0.5, f"not configured: {missing}", ha="center")
    return figure
