"""The benchmark's figure: time an update against D, and time against T."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from onlinefa.figures import style  # noqa: F401  (sets the style)


def draw(rows: pd.DataFrame, path: Path) -> None:
    columns = ["algorithm", "who", "D", "T", "seconds", "of_copy", "section"]
    rows = rows.reindex(columns=columns)  # a run of some sections lacks the others' columns
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    _draw_updates(axes[0], rows)
    _draw_batch(axes[1], rows[rows["section"] == "batch"])
    for axis in axes:
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.legend(fontsize="small")
    figure.savefig(path, dpi=120)


def _draw_updates(axis: Axes, rows: pd.DataFrame) -> None:
    large = rows[rows["section"] == "large"]
    colours = {"online EM": "#E69F00", "online SGA": "#009E73", "recursive EM": "#D55E00"}
    for algorithm, colour in colours.items():
        line = large[large["algorithm"] == algorithm].sort_values("D")
        axis.plot(line["D"], line["seconds"] * 1e6, "o-", color=colour, label=algorithm)
    known = large[large["of_copy"].notna() & (large["algorithm"] == "online EM")].sort_values("D")
    axis.plot(
        known["D"], known["seconds"] * known["of_copy"] * 1e6, "k:",
        label="online EM's bytes at a copy's speed",
    )  # fmt: skip
    small = rows[rows["section"] == "updates"]
    for who, marker in {"literal NumPy": "x", "eager PyTorch": "+"}.items():
        line = small[(small["who"] == who) & (small["algorithm"] == "online EM")]
        axis.plot(line["D"], line["seconds"] * 1e6, marker, color="#E69F00", label=f"EM, {who}")
    axis.set_xlabel("D (K = 10)")
    axis.set_ylabel("microseconds an observation")
    axis.set_title("float32; crosses: float64")


def _draw_batch(axis: Axes, rows: pd.DataFrame) -> None:
    for (who, line), colour in zip(rows.groupby("who"), ("#000000", "#0072B2"), strict=False):
        axis.plot(line["T"], line["seconds"], "o-", color=colour, label=who)
    if not rows.empty:
        axis.set_title(f"maximum likelihood at every T, D = {int(np.max(rows['D']))}, K = 10")
    axis.set_xlabel("number of samples T")
    axis.set_ylabel("seconds for all sizes up to T")
