"""The figure of the benchmarks: time per update against D, time and memory against T."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from benchmarks.clock import CORES
from onlinefa_benchmark.looks import look
from onlinefa_benchmark.plotting import style  # noqa: F401  (sets the style)

NAMES = {"online EM": "online_em", "online SGA": "online_sga", "recursive EM": "recursive_em"}


def draw(rows: pd.DataFrame, path: Path) -> None:
    """Draw the sections that were measured; a panel without rows stays empty."""
    columns = [
        "section",
        "algorithm",
        "implementation",
        "D",
        "T",
        "seconds",
        "seconds_on_all",
        "of_copy",
        "megabytes",
    ]
    rows = rows.reindex(columns=columns)  # sections that were not measured have no columns
    batch = rows[rows["section"] == "batch"]
    figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    _draw_updates(axes[0], rows)
    _draw_batch(axes[1], batch, "seconds", "seconds for all sizes up to T")
    _draw_batch(axes[2], batch, "megabytes", "peak memory, MB")
    for axis in axes:
        if axis.lines:
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.legend(fontsize="x-small", loc="upper left")
    figure.savefig(path, dpi=120)


def _draw_updates(axis: Axes, rows: pd.DataFrame) -> None:
    large, small = (rows[rows["section"] == section] for section in ("large", "updates"))
    for algorithm, line in large[large["algorithm"].isin(NAMES)].groupby("algorithm"):
        its = look(NAMES[str(algorithm)])
        axis.plot(
            line["D"], line["seconds"] * 1e6, marker=its.marker, color=its.colour, label=algorithm
        )
        on_all = line.dropna(subset="seconds_on_all")
        if not on_all.empty:
            axis.plot(
                on_all["D"],
                on_all["seconds_on_all"] * 1e6,
                "--",
                color=its.colour,
                label=f"{algorithm}, {CORES} cores",
            )
    known = large[large["algorithm"] == "online EM"]
    if not known.empty:
        axis.plot(
            known["D"],
            known["seconds"] * known["of_copy"] * 1e6,
            "k:",
            label="a copy of the bytes of online EM",
        )
    for name, marker in {"literal NumPy": "x", "eager PyTorch": "+"}.items():
        line = small[(small["implementation"] == name) & (small["algorithm"] == "online EM")]
        if not line.empty:
            axis.plot(line["D"], line["seconds"] * 1e6, f"k{marker}", label=f"online EM, {name}")
    axis.set_xlabel("D (K = 10)")
    axis.set_ylabel("microseconds per observation")
    axis.set_title("one observation")


def _draw_batch(axis: Axes, rows: pd.DataFrame, column: str, label: str) -> None:
    colours = ("#000000", "#0072B2")
    for (name, line), colour in zip(rows.groupby("implementation"), colours, strict=False):
        line = line[line[column] > 0]  # a small fit may need no additional memory
        if not line.empty:
            axis.plot(line["T"], line[column], "o-", color=colour, label=name)
    if not rows.empty:
        axis.set_title(f"maximum likelihood, D = {int(rows['D'].max())}, K = 10")
    axis.set_xlabel("number of samples T")
    axis.set_ylabel(label)
