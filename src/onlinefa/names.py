"""Names that a configuration uses, and what to say of one that nothing has."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from onlinefa import estimators


def complaint(algorithm: str, variants: Iterable[str] = ()) -> str | None:
    """What is wrong with an algorithm's name, or with the file of that name."""
    if algorithm in variants:
        return None
    if algorithm not in estimators.names():
        known = [*estimators.names(), *variants]
        return f"unknown algorithm '{algorithm}'{nearest(algorithm, known)}"
    try:
        estimators.default_settings(algorithm)
    except estimators.BadAlgorithm as error:
        return str(error)
    return None


def nearest(word: str, allowed: Iterable[str]) -> str:
    allowed = sorted(allowed)
    close = difflib.get_close_matches(word, allowed, n=1)
    hint = f"; did you mean '{close[0]}'?" if close else ""
    return f"{hint} (allowed: {', '.join(allowed) or 'none'})"
