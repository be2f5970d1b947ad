"""Average ranks: a line per algorithm, a column per metric, and which differences are real."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from onlinefa.comparison import ranking
from onlinefa.presentation import in_order, look
from onlinefa.ranking import Ranking
from onlinefa.tables import METRICS, render


def write_table(comparison: pd.DataFrame, path: Path) -> None:
    """Write average ranks by all metrics that have a table, in the format of the path's suffix."""
    metrics = METRICS[comparison["experiment"].iloc[0]]
    rankings = {metric: ranking(comparison, metric) for metric in metrics}
    render.write(path, _rows(rankings), caption(rankings), *grid(rankings))


def _rows(rankings: dict[str, Ranking]) -> pd.DataFrame:
    return pd.concat(
        pd.DataFrame(
            {"metric": metric, "algorithm": each.ranks.index, "rank": each.ranks.to_numpy(),
             "blocks": each.blocks, "p": each.p, "critical_difference": each.critical_difference}
        )
        for metric, each in rankings.items()
    )  # fmt: skip


def grid(rankings: dict[str, Ranking]) -> tuple[list[str], list[list[str]]]:
    found = {str(name) for each in rankings.values() for name in each.ranks.index}
    lines = [
        [look(name).label, *(_number(each.ranks.get(name)) for each in rankings.values())]
        for name in in_order(list(found))
    ]
    if any(each.is_tested for each in rankings.values()):
        differences = [_number(each.critical_difference) for each in rankings.values()]
        ps = [f"{each.p:.2g}" if each.is_tested else "–" for each in rankings.values()]
        lines += [["critical difference", *differences], ["Friedman's p", *ps]]
    return ["algorithm", *(metric.replace("_", " ") for metric in rankings)], lines


def _number(value: float | None) -> str:
    return "–" if value is None or np.isnan(value) else f"{value:.2f}"


def caption(rankings: dict[str, Ranking]) -> str:
    any_one = max(rankings.values(), key=lambda each: each.blocks)
    what = (
        f"Ranks of algorithms, 1 for the best, averaged over {any_one.blocks} {any_one.called}; in "
        "each, algorithms are ranked by their mean rank over seeds, and who failed is last."
    )
    if not any_one.is_tested:
        return f"{what} So few cannot be tested: that takes two, and three algorithms."
    return (
        f"{what} Where Friedman's test finds that algorithms differ at all, those differ at 5 % "
        "whose ranks are further apart than the critical difference (Nemenyi's test)."
    )
