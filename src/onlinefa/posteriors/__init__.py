"""Posteriors of a network other than those from SGD's walk: what else a user might pick. One file
for each, and the references that all are compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onlinefa import registry

if TYPE_CHECKING:
    from onlinefa.posteriors.base import Posterior


def names() -> list[str]:
    """All registered posteriors, sorted."""
    return registry.names(__path__)


def build(name: str, settings: dict[str, Any]) -> Posterior:
    """A posterior with its settings."""
    posterior: Posterior = registry.load(__name__, __path__, name)(**settings)
    return posterior


def default_settings(name: str) -> dict[str, Any]:
    """A posterior's settings and their defaults, read from its file without importing it."""
    return registry.settings(__path__[0], name)


def is_trained(name: str) -> bool:
    """Whether a posterior starts from the mode, read from its file without importing it."""
    return registry.constant(__path__[0], name, "trained") is not False


def is_stochastic(name: str) -> bool:
    """Whether a posterior is told how SGD walks, read from its file without importing it."""
    return registry.constant(__path__[0], name, "stochastic") is True


def is_reference(name: str) -> bool:
    """Whether a posterior is what others are held against, read from its file."""
    return registry.constant(__path__[0], name, "reference") is True


def needs(name: str) -> str | None:
    """The package that a posterior needs beyond PyTorch, read from its file."""
    return registry.constant(__path__[0], name, "needs")
