"""A curve with a gap in the data: what a posterior says where it has seen nothing."""

from __future__ import annotations

import numpy as np

from onlinefa.gaussian import Array

N = 40
NOISE = 0.15  # standard deviation
# Where the data are, and how far out the function is asked for.
_INNER, _OUTER, _ASKED = 0.6, 2.0, 2.5
_ASKED_POINTS = 101


def generate(random: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """Inputs and targets to learn from, and others to be asked for, which fill the gap."""
    sides = random.permutation(np.repeat([-1.0, 1.0], N // 2))
    inputs = sides * random.uniform(_INNER, _OUTER, size=N)
    asked = np.linspace(-_ASKED, _ASKED, _ASKED_POINTS)
    y, y_asked = (np.sin(2.5 * x) + NOISE * random.normal(size=len(x)) for x in (inputs, asked))
    return inputs[:, None], y, asked[:, None], y_asked
