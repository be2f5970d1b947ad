"""Figure 6.4: the true and the estimated covariances of one dataset, as heat maps."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from onlinefa import data
from onlinefa.figures import style  # noqa: F401  (sets the style)
from onlinefa.figures.chapter6 import entries, missing_seeds, of_the_thesis, walk_of
from onlinefa.gaussian import Array
from onlinefa.presentation import in_order, look, over_seeds


def draw(summary: pd.DataFrame) -> Figure:
    """Covariances on one scale above, what they are as correlations below."""
    rows = of_the_thesis(summary)
    rows = rows[rows["K"] == rows["K"].max()]
    covariances = _covariances(rows)
    columns = len(covariances)
    figure, axes = plt.subplots(
        2, columns, squeeze=False, layout="constrained", figsize=(1.2 + 1.9 * columns, 4.7)
    )
    largest = np.abs(covariances["posterior"]).max()
    for column, (label, covariance) in enumerate(covariances.items()):
        image = _heat_map(axes[0, column], covariance, largest)
        axes[0, column].set_title(label)
        deviations = np.sqrt(np.diag(covariance))
        correlation = _heat_map(axes[1, column], covariance / np.outer(deviations, deviations), 1)
    table = data.table(rows["dataset"].iloc[0])
    for axis in axes[:, 0]:
        axis.set_yticks(range(table.dimension), [*table.inputs, "bias"], fontsize="xx-small")
    figure.colorbar(image, ax=axes[0], label="covariance", pad=0.01)
    figure.colorbar(correlation, ax=axes[1], label="correlation", pad=0.01)
    facts = [walk_of(rows), over_seeds(rows, "mean"), *missing_seeds(rows)]
    figure.suptitle(f"{table.title}, K = {rows['K'].iloc[0]}: {'; '.join(facts)}")
    return figure


def _covariances(rows: pd.DataFrame) -> dict[str, Array]:
    """By label, the posterior's first; without algorithms that have no result."""
    rows = rows[rows["mean"].notna()]
    named = {"posterior": entries(rows, "true_covariance")}
    for algorithm in in_order(list(rows["algorithm"].unique())):
        own = rows[rows["algorithm"] == algorithm]
        if own["metric"].eq("covariance[0,0]").any():
            named[look(algorithm).label] = entries(own, "covariance")
    return named


def _heat_map(axis: Axes, matrix: Array, limit: float) -> AxesImage:
    axis.grid(False)
    axis.set_xticks([])
    axis.set_yticks([])
    return axis.imshow(matrix, cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
