"""Published results of networks with one hidden layer on the standard splits, beside ours.

All of them have 50 rectified units, 100 for casp. The log-likelihood is the mean over held-out
points, in nats and in the units of the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from onlinefa_benchmark.axes import DATASET
from onlinefa_benchmark.looks import look

__all__ = ["METHODS", "RESULTS", "network_published"]


@dataclass(frozen=True)
class Method:
    """A method with published results.

    Parameters
    ----------
    label : str
        Name for readers.
    source : str
        Authors and year.
    algorithm : str
        Our algorithm of that name; empty if there is none.
    noise : str
        Choice of the noise that is closest to theirs.
    protocol : str
        What differs from our protocol.
    """

    label: str
    source: str
    algorithm: str = ""
    noise: str = ""
    protocol: str = ""


METHODS = {
    "pbp": Method(
        "PBP",
        "Hernández-Lobato and Adams (2015)",
        protocol="predictions are Gaussian",
    ),
    "ensemble": Method(
        "deep ensemble",
        "Lakshminarayanan et al. (2017)",
        "ensemble",
        "heteroscedastic",
        "five heteroscedastic networks after 40 epochs; their mixture is replaced by a Gaussian "
        "with its moments",
    ),
    "swag": Method(
        "SWAG",
        "Maddox et al. (2019)",
        "swag",
        "heteroscedastic",
        "heteroscedastic networks; a Gaussian with the moments of the mixture; standardised on "
        "all rows, test rows among them; others could not reproduce yacht",
    ),
    "dvi": Method("DVI", "Wu et al. (2019)", protocol="heteroscedastic networks"),
    "slang": Method("SLANG", "Mishkin et al. (2018)"),
    "vifa": Method("VIFA", "Brownlie (2022)", "vifa", "evidence", "one factor"),
}

NAN = float("nan")

# Log-likelihood and root mean squared error.
RESULTS: dict[str, dict[str, tuple[float, float]]] = {
    "boston": {
        "pbp": (-2.57, 3.01),
        "ensemble": (-2.41, 3.28),
        "swag": (-2.761, 3.517),
        "dvi": (-2.41, NAN),
        "slang": (NAN, 3.21),
        "vifa": (-2.66, 3.64),
    },
    "concrete": {
        "pbp": (-3.16, 5.67),
        "ensemble": (-3.06, 6.03),
        "swag": (-3.013, 5.233),
        "dvi": (-3.06, NAN),
        "slang": (-3.13, 5.58),
        "vifa": (-3.34, 6.77),
    },
    "energy": {
        "pbp": (-2.04, 1.80),
        "ensemble": (-1.38, 2.09),
        "swag": (-1.679, 1.594),
        "dvi": (-1.01, NAN),
        "slang": (-1.12, 0.64),
        "vifa": (-2.53, 2.90),
    },
    "ccpp": {"pbp": (-2.84, 4.12), "ensemble": (-2.79, 4.11), "slang": (-2.84, NAN)},
    "casp": {"pbp": (-2.97, 4.73), "ensemble": (-2.83, 4.71)},
    "winequality_red": {"pbp": (-0.97, 0.64), "ensemble": (-0.94, 0.64), "slang": (-0.97, NAN)},
    "yacht": {
        "pbp": (-1.63, 1.02),
        "ensemble": (-1.18, 1.58),
        "swag": (-0.404, 0.973),
        "dvi": (-0.47, NAN),
        "slang": (-1.88, NAN),
        "vifa": (-2.36, 2.51),
    },
}

Key = tuple[str, str, str]
"""Dataset, algorithm and choice of the noise."""

_COLUMNS = [
    "dataset",
    "method",
    "published_log_likelihood",
    "published_rmse",
    "algorithm",
    "noise",
    "log_likelihood",
    "log_likelihood_error",
    "rmse",
    "rmse_error",
    "splits",
]
_HEADER = [
    "dataset",
    "method",
    "published log-likelihood",
    "ours",
    "published RMSE",
    "ours",
    "our algorithm",
]


def network_published(
    config: Any, summary: pd.DataFrame
) -> tuple[pd.DataFrame, str, list[str], list[list[str]]]:
    """Return the rows, the caption, the header and the lines of the table.

    For each dataset, the first line is our posterior with the largest log-likelihood. The others
    are published results, with our result of the same method if there is one.
    """
    rows = pd.DataFrame(_list_rows(config.datasets, summary), columns=_COLUMNS)
    return rows, _caption(config, rows), _HEADER, [_format(row) for row in rows.to_dict("records")]


def _list_rows(datasets: list[str], summary: pd.DataFrame) -> Iterator[dict[str, Any]]:
    likelihoods, errors = (_index(summary, metric) for metric in ("test_nll", "test_rmse"))
    known = [dataset for dataset in datasets if dataset in RESULTS]
    for dataset in known:
        own = [key for key in likelihoods if key[0] == dataset]
        if own:
            best = min(own, key=lambda key: float(likelihoods[key]["mean"]))
            yield {"dataset": dataset, "method": "best"} | _describe(best, likelihoods, errors)
        for name, (likelihood, rmse) in RESULTS[dataset].items():
            key = (dataset, METHODS[name].algorithm, METHODS[name].noise)
            theirs = {"published_log_likelihood": likelihood, "published_rmse": rmse}
            ours = _describe(key, likelihoods, errors) if key in likelihoods else {}
            yield {"dataset": dataset, "method": name} | theirs | ours


def _index(summary: pd.DataFrame, metric: str) -> dict[Key, dict[Any, Any]]:
    """Return the rows of a metric, without those of fits that have no result."""
    rows = summary[(summary["metric"] == metric) & summary["mean"].notna()].to_dict("records")
    return {(row["dataset"], row["algorithm"], row["noise"]): row for row in rows}


def _describe(
    key: Key, likelihoods: dict[Key, dict[Any, Any]], errors: dict[Key, dict[Any, Any]]
) -> dict[str, Any]:
    """Return our result."""
    _, algorithm, noise = key
    return {
        "algorithm": algorithm,
        "noise": noise,
        "log_likelihood": -likelihoods[key]["mean"],
        "log_likelihood_error": likelihoods[key]["standard_error"],
        "rmse": errors[key]["mean"],
        "rmse_error": errors[key]["standard_error"],
        "splits": likelihoods[key]["ok"],
    }


def _format(row: dict[Any, Any]) -> list[str]:
    is_best = row["method"] == "best"
    algorithm = row["algorithm"] if isinstance(row["algorithm"], str) else ""
    return [
        DATASET.format(row["dataset"]),
        "**best here**" if is_best else METHODS[row["method"]].label,
        _format_number(row["published_log_likelihood"]),
        _format_number(row["log_likelihood"], row["log_likelihood_error"]),
        _format_number(row["published_rmse"]),
        _format_number(row["rmse"], row["rmse_error"]),
        f"{look(algorithm).label}, {row['noise']}" if algorithm else "",
    ]


def _format_number(value: float, error: float = NAN) -> str:
    if np.isnan(value):
        return ""
    return f"{value:.2f}" if np.isnan(error) else f"{value:.2f} ± {error:.2f}"


def _caption(config: Any, rows: pd.DataFrame) -> str:
    shown = dict.fromkeys(name for name in rows["method"] if name in METHODS)
    sources = "; ".join(
        f"{METHODS[name].label}: {METHODS[name].source}"
        + (f" ({METHODS[name].protocol})" if METHODS[name].protocol else "")
        for name in shown
    )
    splits = {int(number) for number in rows["splits"].dropna()}
    counted = f"{min(splits)} to {max(splits)}" if len(splits) > 1 else str(*splits)
    kind = "standard" if config.splits == "standard" else "random"
    return (
        "Test log-likelihood (nats per point, larger is better) and RMSE (units of y) of networks "
        f"with one hidden layer, published and here, with standard errors over {counted or 'no'} "
        f"{kind} splits. Ours have {config.width} {config.activation} units and score the mixture "
        "of all networks. The best is the best of all posteriors and choices of the noise on the "
        f"test rows, which favours it. {sources}."
    )
