"""Descriptions that are found by name: one file for each, in the folder of a package."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any


def list_names(folder: Iterable[str]) -> list[str]:
    """Return the names of all descriptions in a package's folder, sorted.

    They are its modules, without ``base``, those that begin with an underscore, and subpackages.

    Parameters
    ----------
    folder : iterable of str
        The package's ``__path__``.
    """
    modules = (module.name for module in pkgutil.iter_modules(folder) if not module.ispkg)
    return sorted(name for name in modules if name != "base" and not name.startswith("_"))


def find(package: str, name: str, attribute: str, noun: str, known: Sequence[str]) -> Any:
    """Return the description of a name.

    Parameters
    ----------
    package : str
        Name of the package.
    name : str
        Name of the description.
    attribute : str
        Name of the variable that its module defines.
    noun : str
        What is described, for the message.
    known : sequence of str
        All names.

    Raises
    ------
    ValueError
        If there is no description of that name.
    """
    if name not in known:
        raise ValueError(f"unknown {noun} '{name}' (available: {', '.join(known)})")
    return getattr(import_module(f"{package}.{name}"), attribute)
