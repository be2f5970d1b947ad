"""Critical-difference diagrams: average ranks on a line, and bars that join similar algorithms."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onlinefa_benchmark.looks import look
from onlinefa_benchmark.metrics.base import Metric
from onlinefa_benchmark.plotting.style import draw_placeholder
from onlinefa_benchmark.statistics.ranking import Ranking, ranking
from onlinefa_benchmark.statistics.significance import LEVEL

# In inches: the line of ranks, room for a name on either side, between bars, between names.
_LINE, _NAME, _BAR, _STEP = 4.0, 2.2, 0.11, 0.23
_DARK, _PALE = "#333333", "#888888"


def draw_ranks(comparison: pd.DataFrame, metric: Metric) -> Figure:
    """Draw the average ranks of algorithms by one metric.

    Coordinates are in inches. The line of ranks begins at (0, 0), and y increases downwards.
    """
    ranks = ranking(comparison, metric.name)
    if not ranks.is_tested:
        return draw_placeholder("three algorithms in two datasets")
    names = _BAR * len(ranks.cliques) + 0.3
    height = names + _STEP * ((len(ranks.ranks) + 1) // 2) + 0.45
    above, width = 0.95, _LINE + 2 * _NAME
    figure = plt.figure(figsize=(width, above + height))
    axis = figure.add_axes((0, 0, 1, 1), xlim=(-_NAME, _LINE + _NAME), ylim=(height, -above))
    axis.axis("off")
    axis.text(_LINE / 2, 0.1 - above, metric.label, ha="center", va="top")
    _draw_scale(axis, ranks)
    _draw_names(axis, ranks, names)
    _draw_cliques(axis, ranks)
    axis.text(
        _LINE / 2,
        height - 0.1,
        _format_note(ranks),
        ha="center",
        va="bottom",
        fontsize="x-small",
        color=_DARK,
    )
    return figure


def _place(ranks: Ranking, rank: float) -> float:
    """Return where on the line a rank is: the best is on the left."""
    return _LINE * (rank - 1) / (len(ranks.ranks) - 1)


def _draw_scale(axis: Axes, ranks: Ranking) -> None:
    """Draw the line with a tick for every rank, and the length of a critical difference above."""
    axis.plot([0, _LINE], [0, 0], color=_DARK, linewidth=1)
    for rank in range(1, len(ranks.ranks) + 1):
        x = _place(ranks, rank)
        axis.plot([x, x], [0, -0.05], color=_DARK, linewidth=1)
        axis.text(x, -0.08, str(rank), ha="center", va="bottom", fontsize="small")
    end = _place(ranks, 1 + ranks.critical_difference)
    axis.plot([0, end], [-0.37, -0.37], color=_DARK, linewidth=1, marker="|", markersize=8)
    axis.text(
        end / 2,
        -0.42,
        f"critical difference {ranks.critical_difference:.2f}",
        ha="center",
        va="bottom",
        fontsize="x-small",
    )


def _draw_names(axis: Axes, ranks: Ranking, top: float) -> None:
    """Draw the better half on the left and the others on the right, so that no lines cross."""
    half = (len(ranks.ranks) + 1) // 2
    for place, (name, rank) in enumerate(ranks.ranks.items()):
        drawn, x = look(str(name)), _place(ranks, rank)
        is_left = place < half
        y = top + _STEP * (place if is_left else len(ranks.ranks) - 1 - place)
        edge, outwards, side = (-0.3, -1, "right") if is_left else (_LINE + 0.3, 1, "left")
        axis.plot([x, x, edge], [0, y, y], color=drawn.colour, linewidth=1)
        axis.plot(x, 0, color=drawn.colour, marker=drawn.marker, clip_on=False, zorder=3)
        axis.text(edge + 0.06 * outwards, y, drawn.label, ha=side, va="center", fontsize="small")
        axis.text(
            edge - 0.02 * outwards,
            y - 0.02,
            f"{rank:.1f}",
            va="bottom",
            color=_PALE,
            ha="left" if is_left else "right",
            fontsize="xx-small",
        )


def _draw_cliques(axis: Axes, ranks: Ranking) -> None:
    """Draw a bar for each group of algorithms that were not shown to differ."""
    for level, clique in enumerate(ranks.cliques, start=1):
        ends = [_place(ranks, ranks.ranks[name]) for name in (clique[0], clique[-1])]
        ends = [ends[0] - 0.03, ends[1] + 0.03]
        axis.plot(ends, [_BAR * level] * 2, color=_DARK, linewidth=3, solid_capstyle="butt")


def _format_note(ranks: Ranking) -> str:
    friedman = f"Friedman's test over {ranks.blocks} {ranks.block_name}: p = {ranks.p:.2g}"
    if not ranks.p < LEVEL:
        return f"Average ranks, the best on the left. No differences were shown.\n{friedman}."
    return (
        "Average ranks, the best on the left. A bar joins algorithms that were not shown to differ "
        f"(Nemenyi's test at 5 %).\n{friedman}."
    )
