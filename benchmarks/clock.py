"""Measure time and bandwidth, in this process or in a child process."""

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
    """Return the seconds of the fastest repetition, because disturbances only add time."""
    times = []
    for _ in range(repetitions):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)


def best_of_each(rounds: int, works: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the fastest time of each function; taking turns, all are affected by disturbances."""
    times = [{name: best_of(1, work) for name, work in works.items()} for _ in range(rounds)]
    return {name: min(each[name] for each in times) for name in works}


def copy_bandwidth(most_threads: int) -> float:
    """Return the bytes per second that a plain copy reads and writes.

    This is the faster of a copy in one thread and a copy in `most_threads`: the C library chooses
    instructions by size.
    """
    return max(_copy_bandwidth(threads) for threads in {1, most_threads})


def _copy_bandwidth(threads: int, size: int = 2**28) -> float:
    """Copy arrays that are larger than all caches, each thread its part, as STREAM does."""
    source = np.ones(size // 8)
    target = np.zeros_like(source)
    parts = list(zip(*(np.array_split(array, threads) for array in (target, source)), strict=True))
    with ThreadPoolExecutor(threads) as pool:
        seconds = best_of(9, lambda: list(pool.map(lambda part: np.copyto(*part), parts)))
    return 2 * source.nbytes / seconds


def in_child(section: str, *arguments: str) -> list[dict[str, Any]]:
    """Return the JSON that the `child` of a section prints in a process with its own memory."""
    command = [sys.executable, "-m", "benchmarks", "child", section, *arguments]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in answer.stdout.splitlines()]
