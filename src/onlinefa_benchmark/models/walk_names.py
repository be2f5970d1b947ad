"""Names of the walks of SGD over a linear regression.

A walk is named by its sampling scheme and by what is observed of it. ``reshuffled`` goes through
the table in a new order every epoch, as the thesis does; ``replacement`` draws every batch with
replacement. What is observed is every step or, with ``_averaged``, the mean over each epoch of
N / batch steps.
"""

from __future__ import annotations

from typing import Literal, get_args

WalkName = Literal["reshuffled", "replacement", "reshuffled_averaged", "replacement_averaged"]
WALKS: tuple[WalkName, ...] = get_args(WalkName)


def parse_walk_name(word: str) -> WalkName:
    """Return the name of a walk as a `WalkName`.

    Raises
    ------
    ValueError
        If there is no walk of that name.
    """
    for name in WALKS:
        if name == word:
            return name
    raise ValueError(f"unknown walk '{word}' (available: {', '.join(WALKS)})")
