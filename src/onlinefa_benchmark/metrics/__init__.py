"""Metrics that can be added to experiments: one file each, found by its name.

A file ``total_variance.py`` in this folder defines the metric ``total_variance`` as its ``METRIC``.
A configuration adds it to an experiment with ``metrics: [total_variance]``.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from onlinefa_benchmark.metrics.base import AdditionalMetric


def names() -> list[str]:
    """Return the names of all additional metrics, sorted."""
    modules = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted(name for name in modules if name != "base" and name[0] != "_")


def module_of(name: str) -> str:
    """Return the module that defines a metric."""
    return f"{__name__}.{name}"


def load(name: str) -> AdditionalMetric:
    """Return the metric of that name."""
    metric: AdditionalMetric = import_module(module_of(name)).METRIC
    return metric
