"""What the figures of chapter 6 share."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from onlinefa.figures.convergence import Layout, draw_convergence
from onlinefa.gaussian import Array
from onlinefa.presentation import look, position, spelled

LAYOUT = Layout(
    rows=["dataset"],
    columns=["K"],
    title="{dataset}, K = {K}",
    x_label="epochs",
    x_scale="linear",
    place="epoch {:,}",
)


def of_the_thesis(summary: pd.DataFrame) -> pd.DataFrame:
    """The rows of the walk that the thesis takes; of another one if that was left out."""
    walks = sorted(summary["walk"].unique(), key=lambda walk: position("walk", walk))
    return summary[summary["walk"] == walks[0]]


def walk_of(rows: pd.DataFrame) -> str:
    """What a figure says of the walk that it shows."""
    return f"batches {spelled('walk', rows['walk'].iloc[0])}"


def missing_seeds(rows: pd.DataFrame) -> list[str]:
    """What a figure says of seeds that have no result at the end: 'SWAG: 2 diverged of 3'."""
    last = rows[(rows["metric"] == "wasserstein2") & (rows["step"] == rows["step"].max())]
    return [
        f"{look(row['algorithm']).label}: {row['statuses']} of {row['seeds']}"
        for _, row in last[last["ok"] < last["seeds"]].iterrows()
    ]


def draw_over_epochs(
    summary: pd.DataFrame,
    metric: str,
    lines: dict[str, str] | None = None,
    numbers: dict[str, str] | None = None,
) -> Figure:
    """Distances from the posterior against epochs: a row per dataset, a column per K."""
    rows = of_the_thesis(summary)
    layout = replace(LAYOUT, note=walk_of(rows), lines=lines or {}, numbers=numbers or {})
    return draw_convergence(rows, metric, layout)


def entries(rows: pd.DataFrame, name: str, column: str = "mean") -> Array:
    """The vector mean[i], or the symmetric matrix covariance[i,j], of one algorithm's rows."""
    found = {
        tuple(map(int, match[1].split(","))): value
        for metric, value in zip(rows["metric"], rows[column], strict=True)
        if (match := re.fullmatch(rf"{name}\[([\d,]+)\]", metric))
    }
    D, axes = 1 + max(index[0] for index in found), len(next(iter(found)))
    values = np.full((D,) * axes, np.nan)
    for index, value in found.items():
        values[index] = values[index[::-1]] = value
    return values
