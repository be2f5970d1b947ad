"""Names of the walks over the weights of a linear regression.

A walk of SGD is named by its sampling scheme and by what is observed of it. ``reshuffled`` goes
through the table in a new order every epoch, as the thesis does; ``replacement`` draws every batch
with replacement. What is observed is every step or, with ``_averaged``, the mean over each epoch of
N / batch steps. The other walks are constant SGD with the step of Mandt et al. and kinds of
Langevin dynamics, whose law approximates the posterior.
"""

from __future__ import annotations

from typing import Literal, get_args

WalkName = Literal[
    "reshuffled",
    "replacement",
    "reshuffled_averaged",
    "replacement_averaged",
    "constant_sgd",
    "sgld",
    "sgld_control_variate",
    "sgld_diagonal",
    "sgld_cyclical",
    "underdamped",
    "langevin_fa",
]
WALKS: tuple[WalkName, ...] = get_args(WalkName)
SGD_WALKS: tuple[WalkName, ...] = WALKS[:4]
LANGEVIN_WALKS: tuple[WalkName, ...] = WALKS[4:]

LEAST_LANGEVIN_STEPS = 200  # half of them for gradient descent to the mode


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
