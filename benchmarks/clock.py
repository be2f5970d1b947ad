"""Time, bandwidth, and measurements in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

import numpy as np

CORES = len(os.sched_getaffinity(0))


def best_of(repetitions: int, work: Callable[[], object]) -> float:
    """Seconds of the fastest repetition: what disturbs a measurement only ever adds to it."""
    times = []
    for _ in range(repetitions):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)


def best_of_each(rounds: int, works: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The same for several, taking turns, so that a disturbance that lasts hits none alone."""
    times = [{name: best_of(1, work) for name, work in works.items()} for _ in range(rounds)]
    return {name: min(each[name] for each in times) for name in works}


def copy_bandwidth(most_threads: int) -> float:
    """Bytes a second that a plain copy moves, read and written, in one thread or in so many,
    whichever is quicker: the C library's choice of instructions depends on sizes."""
    return max(_copy_bandwidth(threads) for threads in {1, most_threads})


def _copy_bandwidth(threads: int, size: int = 2**28) -> float:
    """As STREAM has it: arrays are larger than all caches, and each thread copies its part."""
    source = np.ones(size // 8)
    target = np.zeros_like(source)
    parts = list(zip(*(np.array_split(array, threads) for array in (target, source)), strict=True))
    with ThreadPoolExecutor(threads) as pool:
        seconds = best_of(9, lambda: list(pool.map(lambda part: np.copyto(*part), parts)))
    return 2 * source.nbytes / seconds


def in_child(section: str, *arguments: str) -> list[dict[str, Any]]:
    """What a section's `child` prints in a process of its own, because memory is a process's."""
    command = [sys.executable, "-m", "benchmarks", "child", section, *arguments]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in answer.stdout.splitlines()]
