"""The random numbers of the benchmark.

A generator is named by the root seed, the experiment, the dataset, the seed and a role. The
algorithm's name is not part of it, so that all algorithms of one seed get the same model, the same
observations and the same initial factors: comparisons are paired.
"""

from __future__ import annotations

import hashlib
from typing import Literal

import numpy as np

Role = Literal["model", "second_model", "data", "held_out", "weights", "search", "init", "sampling"]


def generator(
    root: int, experiment: str, dataset: str, seed: int, role: Role
) -> np.random.Generator:
    """Return the generator of a role; it gives the same numbers on every machine."""
    words = [_number(word) for word in (experiment, dataset, role)]
    return np.random.default_rng(np.random.SeedSequence([root, seed, *words]))


def _number(word: str) -> int:
    return int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
