"""Statistics over seeds."""

from __future__ import annotations

import numpy as np
import pandas as pd


def standard_error(values: pd.Series) -> float:
    """Standard error of the mean (ddof 1) of the values that are there; NaN for fewer than two."""
    present = values.dropna()
    if len(present) < 2:
        return float("nan")
    return float(present.std(ddof=1) / np.sqrt(len(present)))
