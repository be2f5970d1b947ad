"""Rows of results that are made by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd

from onlinefa_benchmark import experiments
from onlinefa_benchmark.analysis.comparison import compare
from onlinefa_benchmark.analysis.failures import fill_in_failures
from onlinefa_benchmark.analysis.summary import summarise
from onlinefa_benchmark.storage.schema import FAILED

METRIC = "relative_frobenius"
ANGLE = "largest_principal_angle"
REFERENCES = ("gaussian_process", "nuts", "nystrom")


def make_rows(algorithm, values, metric=METRIC, *, seed=0, status=None, **others):
    """Return a row per seed, from `seed` on; a value of None is a fit that diverged."""
    values = pd.Series(values, dtype=float)
    is_ok = values.isna().map({True: "diverged", False: "ok"})
    columns = {
        "experiment": "synthetic",
        "dataset": "algorithm_3",
        "walk": None,
        "algorithm": algorithm,
        "D": 10,
        "K": 2,
        "width": np.nan,
        "spectrum": "1-10",
        "scale": np.nan,
        "seed": range(seed, seed + len(values)),
        "step": 100,
        "metric": metric,
        "i": np.nan,
        "j": np.nan,
        "value": values,
        "status": status or is_ok,
        "seconds": 1.0,
        "contract": "",
        "networks": np.nan,
    }
    return pd.DataFrame(columns | others)


def make_failure(algorithm, seed, **others):
    """Return the row of a failed cell."""
    return make_rows(algorithm, [None], FAILED, seed=seed, status=FAILED, step=0, **others).assign(
        seconds=np.nan, contract=""
    )


def metrics_of(rows):
    """Return the metrics of the experiment of rows."""
    return experiments.load(rows["experiment"].iloc[0]).all_metrics()


def summary_of(*frames):
    """Summarise frames of one experiment."""
    rows = fill_in_failures(pd.concat(frames, ignore_index=True))
    return summarise(rows, metrics_of(rows), REFERENCES)


def comparison_of(*frames, baseline="batch_svd", overlap=0.0, asked=None):
    """Compare the algorithms in frames of one experiment."""
    rows = fill_in_failures(pd.concat(frames, ignore_index=True))
    return compare(rows, baseline, metrics_of(rows), REFERENCES, overlap, asked)
