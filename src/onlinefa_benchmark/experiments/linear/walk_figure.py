"""Figure 6.8: walks compared by the gradients that they spend."""

from __future__ import annotations

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
# Estimators in order of preference; otherwise the first of the summary is drawn.
_PREFERRED = ("batch_ml", "recursive_em", "shrunk_em")
# Colours of Okabe and Ito; walks of SGD are gray.
_LOOKS = {
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
    rows = summary[(summary["K"] == summary["K"].max()) & summary["i"].isna()]
    algorithm = _choose_algorithm(sorted_values(rows, ALGORITHM))
    rows = rows[rows["algorithm"] == algorithm]
    datasets = sorted_values(rows, DATASET)
    figure, axes = new_panels(
        len(datasets),
        lambda across, down: (1.5 + 2.8 * max(across, 2), 2 + 2.6 * down),
        sharex=True,
    )
    for dataset, axis in zip(datasets, axes.flat, strict=False):
        _draw_panel(axis, rows[rows["dataset"] == dataset])
        axis.set_title(DATASET.format(dataset))
        axis.set_xlabel("epochs of gradients")
    for line in axes:
        line[0].set_ylabel("2-Wasserstein distance\nfrom the posterior")
    estimator = f"{look(algorithm).label}, K = {rows['K'].iloc[0]}"
    seeds = describe_seeds(rows, experiment.setting_keys)
    add_legend(figure, estimator, seeds, *_describe_missing_seeds(rows), column_width=3)
    return figure


def _describe_missing_seeds(rows: pd.DataFrame) -> list[str]:
    """Return notes of seeds without a result at the end of a walk."""
    last = rows[(rows["metric"] == _METRIC) & (rows["step"] == rows["step"].max())]
    return [
        f"{WALK.format(row['walk'])}, {row['dataset']}: {row['statuses']} of {row['seeds']}"
        for _, row in last[last["ok"] < last["seeds"]].iterrows()
    ]


def _choose_algorithm(algorithms: list[str]) -> str:
    return next((name for name in _PREFERRED if name in algorithms), algorithms[0])


def _draw_panel(axis: Axes, rows: pd.DataFrame) -> None:
    for walk in sorted_values(rows, WALK):
        here = rows[(rows["walk"] == walk) & (rows["metric"] == _METRIC)].sort_values("step")
        colour, marker, line = _LOOKS[walk]
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
    floor = rows[rows["metric"] == "floor_of_rank"]["mean"].mean()
    axis.axhline(
        floor,
        color="black",
        linestyle=":",
        linewidth=1,
        label="best factor analysis of the posterior",
    )
    axis.set_xscale("log")
    axis.set_yscale("log")
