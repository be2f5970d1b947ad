"""Table 6.1: the datasets of the linear regression experiments, and what SGD meets there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from onlinefa import data
from onlinefa.models.linear_regression import LinearRegression
from onlinefa.models.sgd_walk import critical_rate
from onlinefa.tables import render


def write_table(tables: Sequence[Path], rate: float, batch: int, outputs: Sequence[Path]) -> None:
    """Write what is known of fetched tables under each path, in the format of its suffix."""
    rows = pd.DataFrame([_facts(path, rate, batch) for path in tables])
    header = [
        "Dataset", "No. of Instances", "No. of Input Variables",
        "Explained Variance", "Critical Rate", "Epochs to Settle",
    ]  # fmt: skip
    body = [
        [row["title"], str(row["instances"]), str(row["inputs"]), f"{row['explained']:.2f}",
         f"{row['critical_rate']:.2f}", f"{row['epochs_to_settle']:.0f}".replace("nan", "never")]
        for row in rows.to_dict("records")
    ]  # fmt: skip
    caption = (
        "UCI regression datasets used in experiments with linear models, and what SGD with batches "
        f"of {batch} meets there: the share of the variance that the model explains, the learning "
        "rate from which on the variance of a walk with replacement grows for ever, and the epochs "
        "in which it forgets its start by a factor of e, in the direction where that takes "
        f"longest, at the learning rate {rate}."
    )
    for path in outputs:
        render.write(path, rows, caption, header, body)


def _facts(path: Path, rate: float, batch: int) -> dict[str, str | float]:
    name = path.stem
    inputs, y = data.read(name, path.parent)
    regression = LinearRegression.of_table(inputs, y)
    residuals = y - regression.X @ regression.posterior.mean
    critical = critical_rate(regression, batch)
    slowest = float(np.linalg.eigvalsh(regression.hessian())[0])
    return {
        "dataset": name,
        "title": data.table(name).title,
        "instances": len(y),
        "inputs": inputs.shape[1],
        "explained": float(1 - residuals.var() / y.var()),
        "critical_rate": critical,
        "epochs_to_settle": batch / (len(y) * rate * slowest) if rate < critical else np.nan,
    }
