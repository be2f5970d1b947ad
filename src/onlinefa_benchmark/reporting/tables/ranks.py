"""Tables of average ranks: a line for each algorithm, a column for each metric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from onlinefa_benchmark.looks import look, sort_algorithms
from onlinefa_benchmark.metrics.base import Metric
from onlinefa_benchmark.statistics.ranking import Ranking, ranking


def make_table(
    comparison: pd.DataFrame, metrics: Mapping[str, Metric]
) -> tuple[pd.DataFrame, str, list[str], list[list[str]]]:
    """Return the rows, the caption, the header and the lines of a table of ranks."""
    rankings = find_rankings(comparison, metrics)
    return _to_frame(rankings), caption(rankings), *grid(rankings)


def find_rankings(comparison: pd.DataFrame, metrics: Iterable[str]) -> dict[str, Ranking]:
    """Return the ranking by each metric."""
    return {metric: ranking(comparison, metric) for metric in metrics}


def _to_frame(rankings: Mapping[str, Ranking]) -> pd.DataFrame:
    return pd.concat(
        pd.DataFrame(
            {
                "metric": metric,
                "algorithm": each.ranks.index,
                "rank": each.ranks.to_numpy(),
                "blocks": each.blocks,
                "p": each.p,
                "critical_difference": each.critical_difference,
            }
        )
        for metric, each in rankings.items()
    )


def grid(rankings: Mapping[str, Ranking]) -> tuple[list[str], list[list[str]]]:
    """Return the header and the lines of the table."""
    found = {str(name) for each in rankings.values() for name in each.ranks.index}
    lines = [
        [look(name).label, *(_format(each.ranks.get(name)) for each in rankings.values())]
        for name in sort_algorithms(list(found))
    ]
    if any(each.is_tested for each in rankings.values()):
        differences = [_format(each.critical_difference) for each in rankings.values()]
        ps = [f"{each.p:.2g}" if each.is_tested else "–" for each in rankings.values()]
        lines += [["critical difference", *differences], ["Friedman's p", *ps]]
    return ["algorithm", *(metric.replace("_", " ") for metric in rankings)], lines


def _format(value: float | None) -> str:
    return "–" if value is None or np.isnan(value) else f"{value:.2f}"


def caption(rankings: Mapping[str, Ranking]) -> str:
    """Return the caption of the table."""
    largest = max(rankings.values(), key=lambda each: each.blocks)
    what = (
        f"Ranks of algorithms, 1 for the best, averaged over {largest.blocks} "
        f"{largest.block_name}; in each, algorithms are ranked by their mean rank over seeds, and "
        "failed fits are last."
    )
    if not largest.is_tested:
        return f"{what} A test takes at least two {largest.block_name} and three algorithms."
    return (
        f"{what} Where Friedman's test finds that algorithms differ at all, those differ at 5 % "
        "whose ranks are further apart than the critical difference (Nemenyi's test)."
    )
