"""A noisy curve with a gap in the data, to show the uncertainty of a posterior in the gap."""

from __future__ import annotations

import numpy as np

from onlinefa_benchmark.arrays import Array

N = 40
NOISE = 0.15  # standard deviation
# Training inputs are in [-outer, -inner] and [inner, outer]; test inputs are in [-test, test].
_INNER, _OUTER, _TEST = 0.6, 2.0, 2.5
_TEST_POINTS = 101


def generate(random: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """Draw training and test points.

    Parameters
    ----------
    random : numpy.random.Generator
        Source of random numbers.

    Returns
    -------
    X, y : arrays of shape (40, 1) and (40,)
        Training inputs and targets.
    X_test, y_test : arrays of shape (101, 1) and (101,)
        Test inputs, which fill the gap, and targets.
    """
    sides = random.permutation(np.repeat([-1.0, 1.0], N // 2))
    inputs = sides * random.uniform(_INNER, _OUTER, size=N)
    test = np.linspace(-_TEST, _TEST, _TEST_POINTS)
    y, y_test = (np.sin(2.5 * x) + NOISE * random.normal(size=len(x)) for x in (inputs, test))
    return inputs[:, None], y, test[:, None], y_test
