"""Which algorithm is best where, by how much, and how sure that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from onlinefa.presentation import METRICS, REFERENCES, at_step, look, settings_of, spelled
from onlinefa.significance import LEVEL, holm
from onlinefa.tables import compared_metrics, render
from onlinefa.tables.final import final_rows


@dataclass(frozen=True)
class Verdict:
    """About one setting."""

    setting: str
    best: str
    value: str
    runner_up: str
    behind: str
    """By how much the runner-up is behind, seed by seed."""
    p: float
    """Of a paired t test of these two, adjusted by Holm's method for all settings."""

    @property
    def is_clear(self) -> bool:
        return self.p < LEVEL

    @property
    def how_sure(self) -> str:
        if np.isnan(self.p):
            return "cannot be tested"
        p = "p < 0.001" if self.p < 0.001 else f"p = {self.p:.2g}"
        return f"{'ahead' if self.is_clear else 'not told apart'} ({p})"


def main_metric(experiment: str) -> str:
    """The one by which the summary of an experiment goes."""
    return compared_metrics(experiment)[0]


def verdicts(summary: pd.DataFrame, metric: str) -> list[Verdict]:
    """One for each setting in which somebody has a value for all seeds."""
    rows = final_rows(summary, metric)
    rows = rows[~rows["algorithm"].isin(REFERENCES) & (rows["ok"] == rows["all_seeds"])]
    keys = settings_of(rows)
    two = [
        part.sort_values("behind", kind="stable").head(2)
        for _, part in rows[rows["behind"].notna()].groupby(keys, dropna=False, sort=False)
    ]
    adjusted = holm(np.array([_p(part) for part in two]))
    return [_verdict(part, keys, p) for part, p in zip(two, adjusted, strict=True)]


def _p(two: pd.DataFrame) -> float:
    """Whether the second is behind the first by chance: who is ahead of it, is ahead of all."""
    if len(two) < 2 or two["ok"].iloc[1] < 2:
        return np.nan
    behind, error = two["behind"].iloc[1], two["behind_error"].iloc[1]
    # Beyond nine digits, values are only rounded differently.
    if behind <= 1e-9 * abs(two["mean"].iloc[0]):
        return 1.0
    with np.errstate(divide="ignore"):
        return float(2 * stats.t.sf(np.float64(behind) / error, two["ok"].iloc[1] - 1))


def _verdict(two: pd.DataFrame, keys: list[str], p: float) -> Verdict:
    best, rest = two.iloc[0], two.iloc[1:]
    runner_up, behind = "–", "–"
    for _, row in rest.iterrows():
        error = row["behind_error"]
        runner_up = look(row["algorithm"]).label
        behind = render.with_error(row["behind"], error, error)
    return Verdict(
        setting=", ".join(f"{key} {spelled(key, best[key])}" for key in keys),
        best=look(best["algorithm"]).label,
        value=render.with_error(best["mean"], best["standard_error"], best["standard_error"]),
        runner_up=runner_up,
        behind=behind,
        p=p,
    )


def headline(summary: pd.DataFrame, metric: str, found: Sequence[Verdict]) -> str:
    """All of them in one sentence."""
    label = METRICS[metric].label
    by = f"By {label} {at_step(summary[summary['metric'] == metric])}"
    if not found:
        return f"{by}, no algorithm has a value for all seeds of any setting."
    wins = Counter(verdict.best for verdict in found)
    clear = Counter(verdict.best for verdict in found if verdict.is_clear)
    parts = [
        f"{name} is best in {_of(number, len(found))} ({_clearly(clear[name], number)} of chance)"
        for name, number in wins.most_common()
    ]
    return f"{by}: {'; '.join(parts)}."


def _of(number: int, all_settings: int) -> str:
    if all_settings == 1:
        return "the only setting"
    return (
        f"all {number} settings"
        if number == all_settings
        else f"{number} of {all_settings} settings"
    )


def _clearly(clear: int, number: int) -> str:
    if clear == number:
        return "clear" if number == 1 else "in all of them clear"
    return f"in {clear} of them clear" if clear else "never clear" if number > 1 else "not clear"
