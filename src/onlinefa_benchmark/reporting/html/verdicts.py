"""Verdicts: which algorithm is best in each setting, by how much, and with what confidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtr

from onlinefa_benchmark.analysis.best import select_final
from onlinefa_benchmark.experiments.base import Experiment, Metric
from onlinefa_benchmark.looks import look
from onlinefa_benchmark.reporting.html.material import Material
from onlinefa_benchmark.reporting.tables import compared_metrics, render
from onlinefa_benchmark.statistics.frames import sort_rows
from onlinefa_benchmark.statistics.significance import LEVEL, holm


@dataclass(frozen=True)
class Verdict:
    """The best algorithm of one setting.

    Parameters
    ----------
    setting : str
        The setting, in words.
    best : str
        Label of the best algorithm.
    value : str
        Its mean and standard error.
    runner_up : str
        Label of the second best algorithm.
    behind : str
        Mean paired difference between the two, and its standard error.
    p : float
        p of paired t tests of the best against all others, adjusted by Holm's method for all
        settings; NaN if there is no test.
    """

    setting: str
    best: str
    value: str
    runner_up: str
    behind: str
    p: float

    @property
    def is_clear(self) -> bool:
        """Whether the best is shown to be better than all others."""
        return self.p < LEVEL

    @property
    def confidence(self) -> str:
        """Result of the tests, in words."""
        if np.isnan(self.p):
            return "cannot be tested"
        p = "p < 0.001" if self.p < 0.001 else f"p = {self.p:.2g}"
        return f"{'ahead' if self.is_clear else 'not significant'} ({p})"


def choose_metric(material: Material) -> Metric | None:
    """Return the metric by which an experiment is summed up, if any has values.

    It is the first of the main metrics, or of all metrics if none is a main one.
    """
    if material.summary is None:
        return None
    has_value = set(material.summary.loc[material.summary["ok"] > 0, "metric"])
    main = compared_metrics(material.metrics)
    return next((metric for metric in main if metric.name in has_value), None)


def find_verdicts(experiment: Experiment, summary: pd.DataFrame, metric: Metric) -> list[Verdict]:
    """Return a verdict for each setting in which an algorithm is best."""
    keys = experiment.setting_keys
    rows = select_final(summary, metric.name, keys)
    rows = sort_rows(rows, [experiment.axis(key) for key in (*keys, "algorithm")])
    ranked = [
        part.sort_values("behind", kind="stable")
        for _, part in rows[rows["is_candidate"]].groupby(keys, dropna=False, sort=False)
    ]
    adjusted = holm(np.array([_test_best(part) for part in ranked]))
    return [_make_verdict(experiment, part, p) for part, p in zip(ranked, adjusted, strict=True)]


def _test_best(ranked: pd.DataFrame) -> float:
    """Return the largest p of paired t tests of the first algorithm against each of the others.

    It is not always that of the runner-up: an algorithm that is further behind may have a larger
    error.
    """
    best, others = ranked.iloc[0], ranked.iloc[1:]
    if others.empty or best["ok"] < 2:
        return np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        t = others["behind"] / others["behind_error"]
    # Differences beyond the ninth digit are rounding errors.
    t = t.mask(others["behind"] <= 1e-9 * abs(best["mean"]), 0)
    return float(2 * stdtr(best["ok"] - 1, -t.min()))


def _make_verdict(experiment: Experiment, ranked: pd.DataFrame, p: float) -> Verdict:
    best, second = ranked.iloc[0], ranked.iloc[1:2]
    runner_up, behind = "–", "–"
    for _, row in second.iterrows():
        error = row["behind_error"]
        runner_up = look(row["algorithm"]).label
        behind = render.with_error(row["behind"], error, error)
    axes = [experiment.axis(key) for key in experiment.setting_keys]
    return Verdict(
        setting=", ".join(f"{axis.title} {axis.format(best[axis.name])}" for axis in axes),
        best=look(best["algorithm"]).label,
        value=render.with_error(best["mean"], best["standard_error"], best["standard_error"]),
        runner_up=runner_up,
        behind=behind,
        p=p,
    )


def format_headline(
    experiment: Experiment, summary: pd.DataFrame, metric: Metric, found: Sequence[Verdict]
) -> str:
    """Return all verdicts in one sentence."""
    rows = summary[summary["metric"] == metric.name]
    by = f"By {metric.label} {experiment.step_phrase(rows)}"
    if not found:
        return f"{by}, no algorithm can be called best in any setting, because seeds are missing."
    wins = Counter(verdict.best for verdict in found)
    clear = Counter(verdict.best for verdict in found if verdict.is_clear)
    tested = Counter(verdict.best for verdict in found if not np.isnan(verdict.p))
    parts = [
        f"{name} is best in {_format_share(number, len(found))}"
        f" ({_format_clear(clear[name], number) if tested[name] else 'not tested'})"
        for name, number in wins.most_common()
    ]
    return f"{by}: {'; '.join(parts)}."


def _format_share(number: int, settings: int) -> str:
    if settings == 1:
        return "the only setting"
    if number == settings:
        return "both settings" if number == 2 else f"all {number} settings"
    return f"{number} of {settings} settings"


def _format_clear(clear: int, number: int) -> str:
    if number == 1:
        return "significant" if clear else "not significant"
    if not clear:
        return "significant in none of them"
    return "significant in all of them" if clear == number else f"significant in {clear} of them"
