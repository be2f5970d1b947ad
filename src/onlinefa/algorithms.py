"""All that an experiment may compare: estimators, and for networks other posteriors as well."""

from __future__ import annotations

from importlib.util import find_spec
from types import ModuleType
from typing import Any

from onlinefa import estimators, posteriors


def names() -> list[str]:
    return sorted([*estimators.names(), *posteriors.names()])


def registry_of(name: str) -> ModuleType:
    """The package that an algorithm's file is in."""
    return posteriors if name in posteriors.names() else estimators


def module_of(name: str) -> str:
    return f"{registry_of(name).__name__}.{name}"


def default_settings(name: str) -> dict[str, Any]:
    """An algorithm's own settings and their defaults, read from its file without importing it."""
    found: dict[str, Any] = registry_of(name).default_settings(name)
    return found


def build(name: str, settings: dict[str, Any]) -> Any:
    return registry_of(name).build(name, settings)


def missing_package(name: str) -> str | None:
    """A package that an algorithm needs and that is not installed."""
    needed = posteriors.needs(name) if registry_of(name) is posteriors else None
    return needed if needed and find_spec(needed) is None else None
