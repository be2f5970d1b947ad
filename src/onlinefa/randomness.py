"""Where every random number of the benchmark comes from.

A generator is named by what it is for: the root seed, the experiment, the dataset, the seed and a
role. The algorithm's name is not among them, so that all algorithms of one seed see the same model,
the same observations and the same initial factors: comparisons are paired.
"""

from __future__ import annotations

import hashlib
from typing import Literal

import numpy as np

Role = Literal[
    "model", "second_model", "data", "held_out", "weights", "search", "init", "sampling"
]  # fmt: skip


def generator(
    root: int, experiment: str, dataset: str, seed: int, role: Role
) -> np.random.Generator:
    """The generator for one role; the same words give the same numbers on every machine."""
    words = [_number(word) for word in (experiment, dataset, role)]
    return np.random.default_rng(np.random.SeedSequence([root, seed, *words]))


def _number(word: str) -> int:
    return int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
