"""Which algorithm is best where, by how much, and how sure that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtr

from onlinefa.presentation import (
    METRICS,
    REFERENCES,
    at_step,
    called,
    look,
    settings_of,
    spelled,
)
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
    """Of paired t tests of the best against all others, adjusted by Holm's method for all settings.
    """

    @property
    def is_clear(self) -> bool:
        return self.p < LEVEL

    @property
    def how_sure(self) -> str:
        if np.isnan(self.p):
            return "cannot be tested"
        p = "p < 0.001" if self.p < 0.001 else f"p = {self.p:.2g}"
        return f"{'ahead' if self.is_clear else 'not told apart'} ({p})"


def main_metric(summary: pd.DataFrame, experiment: str) -> str | None:
    """The one by which an experiment is summed up, of those that have values."""
    has_value = set(summary.loc[summary["ok"] > 0, "metric"])
    return next((name for name in compared_metrics(experiment) if name in has_value), None)


def verdicts(summary: pd.DataFrame, metric: str) -> list[Verdict]:
    """One for each setting in which somebody has a value for all seeds, unless it is undecided."""
    rows = final_rows(summary, metric)
    keys = settings_of(rows)
    is_complete = (rows["ok"] == rows["all_seeds"]) & rows["behind"].notna()
    rows = rows[is_complete & ~rows["algorithm"].isin(REFERENCES)]
    ranked = [
        part.sort_values("behind", kind="stable")
        for _, part in rows.groupby(keys, dropna=False, sort=False)
        if part["best"].any()  # or else it is undecided
    ]
    adjusted = holm(np.array([_p(part) for part in ranked]))
    return [_verdict(part, keys, p) for part, p in zip(ranked, adjusted, strict=True)]


def _p(ranked: pd.DataFrame) -> float:
    """Whether the first is ahead of all others by chance: as probable as for the likeliest of them.

    That is not always the runner-up: who is further behind may be so with a larger error.
    """
    best, others = ranked.iloc[0], ranked.iloc[1:]
    if others.empty or best["ok"] < 2:
        return np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        t = others["behind"] / others["behind_error"]
    # Beyond nine digits, values are only rounded differently.
    t = t.mask(others["behind"] <= 1e-9 * abs(best["mean"]), 0)
    return float(2 * stdtr(best["ok"] - 1, -t.min()))


def _verdict(ranked: pd.DataFrame, keys: list[str], p: float) -> Verdict:
    best, second = ranked.iloc[0], ranked.iloc[1:2]
    runner_up, behind = "–", "–"
    for _, row in second.iterrows():
        error = row["behind_error"]
        runner_up = look(row["algorithm"]).label
        behind = render.with_error(row["behind"], error, error)
    return Verdict(
        setting=", ".join(
            f"{called(best['experiment'], key)} {spelled(key, best[key])}" for key in keys
        ),
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
        return f"{by}, nobody can be called the best of any setting: seeds are missing."
    wins = Counter(verdict.best for verdict in found)
    clear = Counter(verdict.best for verdict in found if verdict.is_clear)
    tested = Counter(verdict.best for verdict in found if not np.isnan(verdict.p))
    parts = [
        f"{name} is best in {_of(number, len(found))}"
        f" ({_clearly(clear[name], number) if tested[name] else 'not tested'})"
        for name, number in wins.most_common()
    ]
    return f"{by}: {'; '.join(parts)}."


def _of(number: int, all_settings: int) -> str:
    if all_settings == 1:
        return "the only setting"
    if number == all_settings:
        return "both settings" if number == 2 else f"all {number} settings"
    return f"{number} of {all_settings} settings"


def _clearly(clear: int, number: int) -> str:
    if number == 1:
        return "clear of chance" if clear else "not clear of chance"
    often = "in all of them" if clear == number else f"in {clear} of them" if clear else "never"
    return f"{often} clear of chance"
