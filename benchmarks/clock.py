"""Time, memory and bandwidth."""

from __future__ import annotations

import resource
from collections.abc import Callable
from time import perf_counter

import numpy as np


def best_of(repetitions: int, work: Callable[[], object]) -> float:
    """Seconds of the fastest repetition: what disturbs a measurement only ever adds to it."""
    times = []
    for _ in range(repetitions):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)


def copy_bandwidth(size: int) -> float:
    """Bytes a second that a plain copy moves, read and written, for an array of so many bytes."""
    source = np.ones(size // 8)
    target = np.empty_like(source)
    return 2 * source.nbytes / best_of(7, lambda: np.copyto(target, source))


def peak_bytes() -> int:
    """The largest memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
