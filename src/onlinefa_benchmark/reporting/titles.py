"""Titles of figures and tables, from the names of their files."""

from __future__ import annotations

import re

from onlinefa_benchmark import experiments, metrics
from onlinefa_benchmark.metrics.base import Metric


def title_of_figure(name: str) -> str:
    """Return a title such as ``Figure 6.4 winequality red``."""
    words = re.sub(r"^(figure|table)_(\d)_(\d)_?", r"\1 \2.\3 ", name).replace("_", " ").strip()
    return capitalise(words)


def title_of_table(name: str) -> str:
    """Return a title such as ``Accuracy, compared``."""
    metric = _find_metric(name.removeprefix("compared_"))
    if metric is None:
        return title_of_figure(name)
    title = capitalise(metric.label)
    return f"{title}, compared" if name.startswith("compared_") else title


def _find_metric(name: str) -> Metric | None:
    """Return the metric of that name, which an experiment has or a configuration adds."""
    for experiment in map(experiments.load, experiments.names()):
        if found := experiment.all_metrics().get(name):
            return found
    return metrics.load(name).named(name) if name in metrics.names() else None


def capitalise(text: str) -> str:
    """Return a text whose first letter is a capital one."""
    return f"{text[:1].upper()}{text[1:]}"
