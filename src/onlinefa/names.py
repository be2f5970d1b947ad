"""Names that a configuration uses, and what to say of one that nothing has."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence

from onlinefa import algorithms
from onlinefa.registry import BadAlgorithm


def complaint(
    algorithm: str, allowed: Sequence[str], variants: Mapping[str, str] | None = None
) -> str | None:
    """What is wrong with an algorithm's name, or with the file of that name.

    `variants` has the algorithms behind other names, which are allowed if those are.
    """
    variants = variants or {}
    base = variants.get(algorithm, algorithm)
    if base not in allowed:
        if algorithm != base and base not in algorithms.names():
            return None  # which is said where the variant is defined
        known = [*allowed, *(name for name, of in variants.items() if of in allowed)]
        return f"unknown algorithm '{algorithm}'{nearest(algorithm, known)}"
    try:
        algorithms.default_settings(base)
    except BadAlgorithm as error:
        return str(error)
    package = algorithms.missing_package(base)
    return f"'{algorithm}' {needs_package(package, 'reference')}" if package else None


def needs_package(package: str, group: str) -> str:
    """What to do about a package that is not installed with this one."""
    return (
        f"needs {package}, which is not installed: pip install -e '.[{group}]' -c constraints.txt"
    )


def nearest(word: str, allowed: Iterable[str]) -> str:
    allowed = sorted(allowed)
    close = difflib.get_close_matches(word, allowed, n=1)
    hint = f"; did you mean '{close[0]}'?" if close else ""
    return f"{hint} (allowed: {', '.join(allowed) or 'none'})"
