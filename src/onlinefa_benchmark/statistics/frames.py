"""Operations on data frames of results: order of rows, values with an index, losses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.axes import Axis
from onlinefa_benchmark.metrics.base import Metric


def sort_rows(rows: pd.DataFrame, axes: Iterable[Axis]) -> pd.DataFrame:
    """Sort rows by the values of axes, in the order in which readers see them."""
    keys = zip(*[[axis.sort_key(value) for value in rows[axis.name]] for axis in axes], strict=True)
    order = [place for place, _ in sorted(enumerate(keys), key=lambda item: item[1])]
    return rows.iloc[order].reset_index(drop=True)


def sorted_values(rows: pd.DataFrame, axis: Axis) -> list[Any]:
    """Return the values of an axis that occur, in the order in which readers see them."""
    return sorted(rows[axis.name].unique(), key=axis.sort_key)


def entries(rows: pd.DataFrame, metric: str, column: str = "mean") -> Array:
    """Return the values of a metric that has an index, as a vector or a symmetric matrix.

    Parameters
    ----------
    rows : DataFrame
        Rows of one algorithm, setting and step. A matrix may have one triangle only.
    metric : str
        Name of the metric.
    column : str, default="mean"
        Column with the values.

    Returns
    -------
    array of shape (n,) or (n, n)
    """
    found = rows[rows["metric"] == metric]
    i, values = found["i"].to_numpy(dtype=int), found[column].to_numpy(dtype=float)
    size = 1 + i.max()
    if found["j"].isna().all():
        vector = np.full(size, np.nan)
        vector[i] = values
        return vector
    j = found["j"].to_numpy(dtype=int)
    matrix = np.full((size, size), np.nan)
    matrix[i, j] = matrix[j, i] = values
    return matrix


def compute_losses(rows: pd.DataFrame, metrics: Mapping[str, Metric]) -> pd.Series:
    """Return numbers that are lower the better the values are, for rows of known metrics."""
    by_metric = rows["value"].groupby(rows["metric"])
    loss: pd.Series = by_metric.transform(lambda values: metrics[str(values.name)].loss(values))
    return loss
