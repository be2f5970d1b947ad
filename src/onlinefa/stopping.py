"""When a setting has enough seeds: its standard errors are as small as the configuration asks.

A setting is all that algorithms are compared in. It gets seeds for all of its algorithms at once:
comparisons are paired, and of two algorithms with different seeds one may have had the easier ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from onlinefa.cell import Group
from onlinefa.config import Experiment, MoreSeeds
from onlinefa.config.base import setting_of
from onlinefa.presentation import REFERENCES

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Standing:
    """How well one algorithm is known in a setting."""

    algorithm: str
    error: float
    """Its standard error, which is not a number if it has one value only."""
    target: float
    wanted: int
    """How many seeds it should have, and may have."""

    @property
    def is_met(self) -> bool:
        return self.error <= self.target

    @property
    def urgency(self) -> tuple[int, float]:
        """Who wants most seeds, and then who is furthest from its target."""
        known = self.target > 0 and not math.isnan(self.error)
        return self.wanted, self.error / self.target if known else math.inf


@dataclass(frozen=True)
class Verdict:
    """How many seeds a setting has, and how many it is to have."""

    setting: str
    seeds: int
    standings: tuple[Standing, ...]
    """Of all algorithms that have a say."""

    @property
    def wanted(self) -> int:
        return max([self.seeds, *(standing.wanted for standing in self.standings)])

    def __str__(self) -> str:
        has = f"{self.setting.replace('~', ' ').replace('/', ', ')}: {self.seeds} seeds"
        if not self.standings:
            return f"{has}, and nobody has a value: none are added"
        worst = max(self.standings, key=lambda standing: standing.urgency)
        known = f"standard error {worst.error:.3g} of {worst.algorithm}, target {worst.target:.3g}"
        return f"{has}, {known}: {self._what_is_done()}"

    def _what_is_done(self) -> str:
        if self.wanted > self.seeds:
            return f"{self.wanted - self.seeds} more"
        is_met = all(standing.is_met for standing in self.standings)
        return "met" if is_met else "not met, and no more are allowed"


def verdicts(grid: Experiment, groups: Iterable[Group], summary: pd.DataFrame) -> list[Verdict]:
    """One for each setting of an experiment; `groups` are those of all its cells."""
    rule = grid.more_seeds
    if rule is None:
        return []
    rows = summary[summary["metric"] == rule.metric]
    records = rows[rows["step"] == rows["step"].max()].to_dict("records")
    settings: dict[str, list[Group]] = {}
    for group in groups:
        settings.setdefault(setting_of(group.axes), []).append(group)
    return [
        Verdict(
            setting,
            max(len(grid.seeds_of(group.axes)) for group in of_one),
            tuple(_standings(grid, rule, of_one, records)),
        )
        for setting, of_one in settings.items()
    ]


def _standings(
    grid: Experiment, rule: MoreSeeds, groups: list[Group], records: list[dict[Any, Any]]
) -> Iterator[Standing]:
    found = {tuple(row[axis] for axis in groups[0].axes): row for row in records}
    for group in groups:
        algorithm, row = str(group.axes["algorithm"]), found.get(tuple(group.axes.values()))
        if algorithm in REFERENCES or algorithm not in (rule.algorithms or [algorithm]):
            continue
        # Who has always failed would do so with further seeds, and whose values have no finite
        # standard error would have none with more of them.
        if row is None or row["ok"] == 0:
            continue
        error = float(row["standard_error"])
        if row["ok"] > 1 and not math.isfinite(error):
            continue
        target = rule.error * (abs(row["mean"]) if rule.relative else 1)
        allowed = min(rule.most, grid.seeds_allowed(group.axes) or rule.most)
        wanted = min(allowed, seeds_for(target, int(row["seeds"]), error))
        yield Standing(algorithm, error, target, wanted)


def seeds_for(target: float, seeds: int, error: float) -> int:
    """How many seeds meet a target, if the standard error falls with the root of their number.

    No more than twice as many: few values tell little about their standard error, and one nothing.
    """
    if error <= target:
        return seeds
    times = error / target if target > 0 else math.inf
    needed = seeds * times * times
    return max(seeds + 1, math.ceil(needed)) if needed < 2 * seeds else 2 * seeds
