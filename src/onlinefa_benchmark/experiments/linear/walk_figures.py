"""Figures 6.8 and 6.11: walks compared by the gradients that they spend."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onlinefa_benchmark.axes import ALGORITHM, DATASET, WALK
from onlinefa_benchmark.experiments.base import Experiment
from onlinefa_benchmark.looks import look
from onlinefa_benchmark.plotting.convergence import add_legend
from onlinefa_benchmark.plotting.panels import new_panels
from onlinefa_benchmark.statistics.frames import sorted_values
from onlinefa_benchmark.statistics.seeds import describe_seeds

_METRIC = "wasserstein2"
_EPOCHS = "epochs of gradients"
_PARTS = {
    "relative_mean_distance": "relative distance\nof means",
    "relative_frobenius": "relative Frobenius distance\nof covariances",
}
# Estimators in order of preference; otherwise the first of the summary is drawn.
_PREFERRED = ("batch_ml", "recursive_em", "shrunk_em")
# Colours of Okabe and Ito; walks of SGD are gray.
WALK_LOOKS = {
    "reshuffled": ("#7F7F7F", "o", "-"),
    "replacement": ("#7F7F7F", "s", "--"),
    "reshuffled_averaged": ("#B0B0B0", "^", "-"),
    "replacement_averaged": ("#B0B0B0", "v", "--"),
    "constant_sgd": ("#000000", "x", "-"),
    "sgld": ("#E69F00", "D", "-"),
    "sgld_control_variate": ("#F0E442", "<", "-"),
    "sgld_diagonal": ("#CC79A7", ">", "-"),
    "sgld_cyclical": ("#56B4E9", "P", "-"),
    "underdamped": ("#009E73", "h", "-"),
    "langevin_fa": ("#D55E00", "*", "-"),
}


def figure_6_8(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw the distance of estimates from the posterior against the epochs of each walk."""
    rows = _select_rows(summary)
    datasets = sorted_values(rows, DATASET)
    figure, axes = new_panels(
        len(datasets),
        lambda across, down: (1.5 + 2.8 * max(across, 2), 2 + 2.6 * down),
        sharex=True,
    )
    for dataset, axis in zip(datasets, axes.flat, strict=False):
        own = rows[rows["dataset"] == dataset]
        _draw_walks(axis, own, _METRIC)
        _draw_floor(axis, own)
        axis.set_title(DATASET.format(dataset))
        axis.set_xlabel(_EPOCHS)
    for line in axes:
        line[0].set_ylabel("2-Wasserstein distance\nfrom the posterior")
    _add_walk_legend(figure, experiment, rows)
    return figure


def figure_6_11(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw the distances of means and covariances against the epochs of each walk."""
    rows = _select_rows(summary)
    datasets = sorted_values(rows, DATASET)
    figure, axes = plt.subplots(
        len(_PARTS),
        len(datasets),
        sharex=True,
        squeeze=False,
        layout="constrained",
        figsize=(1.5 + 2.8 * max(len(datasets), 2), 2 + 2.6 * len(_PARTS)),
    )
    for (metric, label), line in zip(_PARTS.items(), axes, strict=True):
        for dataset, axis in zip(datasets, line, strict=True):
            _draw_walks(axis, rows[rows["dataset"] == dataset], metric)
        line[0].set_ylabel(label)
    for dataset, first, last in zip(datasets, axes[0], axes[-1], strict=True):
        first.set_title(DATASET.format(dataset))
        last.set_xlabel(_EPOCHS)
    _add_walk_legend(figure, experiment, rows)
    return figure


def _select_rows(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one algorithm with the largest number of factors, without entries."""
    rows = summary[(summary["K"] == summary["K"].max()) & summary["i"].isna()]
    return rows[rows["algorithm"] == choose_algorithm(rows)]


def _add_walk_legend(figure: Figure, experiment: Experiment, rows: pd.DataFrame) -> None:
    estimator = f"{look(rows['algorithm'].iloc[0]).label}, K = {rows['K'].iloc[0]}"
    seeds = describe_seeds(rows, experiment.setting_keys)
    add_legend(figure, estimator, seeds, *describe_missing_walks(rows))


def describe_missing_walks(rows: pd.DataFrame) -> list[str]:
    """Return notes of seeds without a result at the end of a walk."""
    last = rows[(rows["metric"] == _METRIC) & (rows["step"] == rows["step"].max())]
    return [
        f"{WALK.format(row['walk'])}, {row['dataset']}: {row['statuses']} of {row['seeds']}"
        for _, row in last[last["ok"] < last["seeds"]].iterrows()
    ]


def choose_algorithm(rows: pd.DataFrame) -> str:
    """Return the algorithm whose estimates from several walks are compared."""
    algorithms = sorted_values(rows, ALGORITHM)
    return next((name for name in _PREFERRED if name in algorithms), algorithms[0])


def _draw_walks(axis: Axes, rows: pd.DataFrame, metric: str) -> None:
    for walk in sorted_values(rows, WALK):
        here = rows[(rows["walk"] == walk) & (rows["metric"] == metric)].sort_values("step")
        colour, marker, line = WALK_LOOKS[walk]
        axis.errorbar(
            here["step"],
            here["mean"],
            yerr=here["standard_error"].fillna(0),
            color=colour,
            marker=marker,
            linestyle=line,
            markevery=max(1, len(here) // 5),
            errorevery=max(1, len(here) // 5),
            capsize=2,
            label=WALK.format(walk),
        )
    axis.set_xscale("log")
    axis.set_yscale("log")


def _draw_floor(axis: Axes, rows: pd.DataFrame) -> None:
    floor = rows[rows["metric"] == "floor_of_rank"]["mean"].mean()
    axis.axhline(
        floor,
        color="black",
        linestyle=":",
        linewidth=1,
        label="best factor analysis of the posterior",
    )
