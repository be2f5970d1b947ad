"""One thread for all that computes: the order of sums, and so the bits, depend on their number."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

# What libraries look for when they are loaded.
_VARIABLES = ("MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@contextmanager
def one_thread() -> Iterator[None]:
    """Both for libraries that are loaded already, and for those that are imported inside.

    SciPy and scikit-learn bring pools of threads of their own, and much imports them late.
    """
    before = {name: os.environ.get(name) for name in _VARIABLES}
    os.environ.update(dict.fromkeys(_VARIABLES, "1"))
    try:
        with threadpool_limits(1):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
