"""Table 6.1: the datasets of the linear regression experiments, and how SGD behaves there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from onlinefa_benchmark import datasets
from onlinefa_benchmark.models.linear_regression import LinearRegression
from onlinefa_benchmark.models.sgd_walk import critical_rate

_HEADER = [
    "Dataset",
    "No. of Instances",
    "No. of Input Variables",
    "Explained Variance",
    "Critical Rate",
    "Epochs to Settle",
]


def table_6_1(config: Any, folder: Path) -> tuple[pd.DataFrame, str, list[str], list[list[str]]]:
    """Return facts about the configured datasets.

    Parameters
    ----------
    config : LinearConfig
        Configuration of the experiment.
    folder : Path
        Folder of fetched datasets.

    Returns
    -------
    tuple
        The rows, a caption, a header, and the lines that readers see.
    """
    rate, batch = config.learning_rate, config.batch
    rows = pd.DataFrame([_collect_facts(name, folder, rate, batch) for name in config.datasets])
    body = [
        [
            row["title"],
            str(row["instances"]),
            str(row["inputs"]),
            f"{row['explained']:.2f}",
            f"{row['critical_rate']:.2f}",
            f"{row['epochs_to_settle']:.0f}".replace("nan", "never"),
        ]
        for row in rows.to_dict("records")
    ]
    caption = (
        "UCI regression datasets used in experiments with linear models, for SGD with batches of "
        f"{batch} rows: the share of the variance that the model explains; the learning rate at "
        "and above which the variance of a walk with replacement grows without bound; and the "
        "epochs in which the walk forgets its start by a factor of e, in the direction where that "
        f"takes longest, at the learning rate {rate}."
    )
    return rows, caption, _HEADER, body


def _collect_facts(name: str, folder: Path, rate: float, batch: int) -> dict[str, str | float]:
    inputs, y = datasets.read(name, folder)
    regression = LinearRegression.of_table(inputs, y)
    residuals = y - regression.X @ regression.posterior.mean
    critical = critical_rate(regression, batch)
    slowest = float(np.linalg.eigvalsh(regression.hessian())[0])
    return {
        "dataset": name,
        "title": datasets.table(name).title,
        "instances": len(y),
        "inputs": inputs.shape[1],
        "explained": float(1 - residuals.var() / y.var()),
        "critical_rate": critical,
        "epochs_to_settle": batch / (len(y) * rate * slowest) if rate < critical else np.nan,
    }
