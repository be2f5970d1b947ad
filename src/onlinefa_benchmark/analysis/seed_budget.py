"""The number of seeds that a setting needs until its standard errors are small enough.

A setting is a combination of values of all axes but the algorithm; algorithms are compared within a
setting. Seeds are added for all algorithms of a setting at once, because comparisons are paired:
with different seeds, one algorithm may have easier problems than another.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from onlinefa_benchmark.cells import Group
from onlinefa_benchmark.experiments._config import setting_name
from onlinefa_benchmark.experiments.base import ExperimentConfig, MoreSeeds

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Standing:
    """The standard error of one algorithm in a setting, and its target.

    Parameters
    ----------
    algorithm : str
        Name of the algorithm.
    error : float
        Its standard error; NaN if there is only one value.
    target : float
        Largest standard error that is accepted.
    wanted : int
        Number of seeds that it should have, at most the number that is allowed.
    """

    algorithm: str
    error: float
    target: float
    wanted: int

    @property
    def is_met(self) -> bool:
        """Whether the standard error is small enough."""
        return self.error <= self.target

    @property
    def urgency(self) -> tuple[int, float]:
        """Sort key; the algorithm that needs the most seeds has the largest."""
        is_known = self.target > 0 and not math.isnan(self.error)
        return self.wanted, self.error / self.target if is_known else math.inf


@dataclass(frozen=True)
class SeedDecision:
    """The number of seeds that a setting has and should have.

    Parameters
    ----------
    setting : str
        Name of the setting, such as ``D~100/K~10/spectrum~1-100``.
    seeds : int
        Number of seeds that it has.
    standings : tuple of Standing
        Algorithms that count towards the target.
    deviation : float
        Standard deviation of the paired differences to the best algorithm, the median over
        algorithms; NaN if there is none.
    overlap : float
        Ratio of test rows to training rows if seeds are splits of a table.
    """

    setting: str
    seeds: int
    standings: tuple[Standing, ...]
    deviation: float = math.nan
    overlap: float = 0.0

    @property
    def wanted(self) -> int:
        """Number of seeds that the setting should have."""
        return max([self.seeds, *(standing.wanted for standing in self.standings)])

    def __str__(self) -> str:
        has = f"{self.setting.replace('~', ' ').replace('/', ', ')}: {self.seeds} seeds"
        if not self.standings:
            return f"{has}, no algorithm has a value: none are added"
        worst = max(self.standings, key=lambda standing: standing.urgency)
        known = f"standard error {worst.error:.3g} of {worst.algorithm}, target {worst.target:.3g}"
        return f"{has}, {known}: {self._format_decision()}"

    def _format_decision(self) -> str:
        if self.wanted > self.seeds:
            decision = f"{self.wanted - self.seeds} more"
        else:
            is_met = all(standing.is_met for standing in self.standings)
            decision = "met" if is_met else "not met, and no more are allowed"
        return decision + self._format_detectable()

    def _format_detectable(self) -> str:
        """Return which differences are detected now, and with the number of seeds wanted."""
        from onlinefa_benchmark.statistics.significance import detectable_difference

        numbers = np.array(sorted({self.seeds, self.wanted}))
        found = detectable_difference(np.array(self.deviation), numbers, self.overlap)
        if np.isnan(found).all():
            return ""
        text = f"; detectable difference {found[0]:.2g}"
        return text if len(found) == 1 else f"{text}, with them {found[1]:.2g}"


def decide_seeds(
    config: ExperimentConfig,
    groups: Iterable[Group],
    summary: pd.DataFrame,
    references: Collection[str],
    overlap: float = 0.0,
) -> list[SeedDecision]:
    """Decide for each setting of an experiment how many seeds it should have.

    Parameters
    ----------
    config : ExperimentConfig
        Configuration of the experiment; without `more_seeds` there are no decisions.
    groups : iterable of Group
        Groups of all cells of the experiment.
    summary : DataFrame
        Its summary.
    references : collection of str
        Reference algorithms, which do not count towards the target.
    overlap : float, default=0
        Ratio of test rows to training rows if seeds are splits of a table.
    """
    rule = config.more_seeds
    if rule is None:
        return []
    rows = summary[summary["metric"] == rule.metric]
    records = rows[rows["step"] == rows["step"].max()].to_dict("records")
    settings: dict[str, list[Group]] = {}
    for group in groups:
        settings.setdefault(setting_name(group.axes), []).append(group)
    return [
        SeedDecision(
            setting,
            max(len(config.seeds_of(group.axes)) for group in own),
            tuple(_find_standings(config, rule, own, records, references)),
            _find_deviation(own, records),
            overlap,
        )
        for setting, own in settings.items()
    ]


def _find_standings(
    config: ExperimentConfig,
    rule: MoreSeeds,
    groups: list[Group],
    records: list[dict[Any, Any]],
    references: Collection[str],
) -> Iterator[Standing]:
    """Yield the standings of the algorithms of a setting that count towards the target."""
    found = {tuple(row[axis] for axis in groups[0].axes): row for row in records}
    for group in groups:
        algorithm, row = str(group.axes["algorithm"]), found.get(tuple(group.axes.values()))
        if algorithm in references or algorithm not in (rule.algorithms or [algorithm]):
            continue
        # An algorithm that always fails would fail with further seeds as well, and one whose values
        # have no finite standard error would have none with more of them.
        if row is None or row["ok"] == 0:
            continue
        error = float(row["standard_error"])
        if row["ok"] > 1 and not math.isfinite(error):
            continue
        target = rule.error * (abs(row["mean"]) if rule.relative else 1)
        allowed = min(rule.most, config.seeds_allowed(group.axes) or rule.most)
        wanted = min(allowed, seeds_for(target, int(row["seeds"]), error))
        yield Standing(algorithm, error, target, wanted)


def _find_deviation(groups: list[Group], records: list[dict[Any, Any]]) -> float:
    """Return the median standard deviation of differences to the best algorithm of a setting."""
    found = {tuple(row[axis] for axis in groups[0].axes): row for row in records}
    rows = [found.get(tuple(group.axes.values())) for group in groups]
    deviations = [
        row["behind_error"] * math.sqrt(row["ok"])
        for row in rows
        if row and row["behind_error"] > 0
    ]
    return median(deviations) if deviations else math.nan


def seeds_for(target: float, seeds: int, error: float) -> int:
    """Return the number of seeds that meets a target.

    The number assumes that the standard error falls with the square root of the number of seeds.
    It is no more than twice the present number, because a standard error of few values is
    inaccurate.
    """
    if error <= target:
        return seeds
    ratio = error / target if target > 0 else math.inf
    needed = seeds * ratio * ratio
    return max(seeds + 1, math.ceil(needed)) if needed < 2 * seeds else 2 * seeds
