"""Limit of one thread for all computations, because rounding depends on the order of sums."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

# Libraries read these variables when they are loaded.
_VARIABLES = ("MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit libraries to one thread, both those already loaded and those imported inside.

    SciPy and scikit-learn bring thread pools of their own, and many modules import them late.
    """
    before = {name: os.environ.get(name) for name in _VARIABLES}
    os.environ.update(dict.fromkeys(_VARIABLES, "1"))
    try:
        with threadpool_limits(1):
            # threadpoolctl does not find PyTorch's MKL.
            if "torch" in sys.modules:
                sys.modules["torch"].set_num_threads(1)
            yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
