"""How columns are divided: into tiles that stay in a cache, chunks of tiles, and among threads.

A kernel sweeps over all columns once per observation, tile by tile, so that a tile stays in a
cache from the first to the last thing that is done with it. Its arrays move through memory once per
observation then, whatever D, and most of the time goes into arithmetic.

Sums over columns are taken chunk by chunk, and chunks are added in their order, whoever has summed
them: results are the same to the bit with any number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

# Columns. With K = 10, two arrays of K x TILE numbers are 160 to 320 KiB, and fit into the second
# cache. The first would be quicker, but loops over its few columns spend more on being started.
TILE = 2048
CHUNK = 2 * TILE

# With fewer for each, threads wait for one another longer than they work.
_COLUMNS_OF_A_THREAD = 8 * CHUNK


def number_of_chunks(D: int) -> int:
    return -(-D // CHUNK)


def number_of_threads(D: int) -> int:
    """As many as OMP_NUM_THREADS says, or as this process has cores, if they have enough to do."""
    asked_for = os.environ.get("OMP_NUM_THREADS", "")
    most = int(asked_for) if asked_for.isdecimal() else _cores()
    return max(1, min(most, D // _COLUMNS_OF_A_THREAD))


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # of this process; only Linux tells
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_threads(
    threads: int,
    chunks: int,
    number: int,
    count: int,
    begin: Callable[[int], bool],
    sweep: Callable[[int, int, int, int], bool],
) -> int:
    """What the kernels' compiled loops over so many rows do, with sweeps shared among threads.

    begin(t) prepares for learning from the t-th observation; sweep(n, t, first, last) learns from
    the n-th row in chunks first to last. Both say whether the fit is still finite.
    """
    ends = [chunks * thread // threads for thread in range(threads + 1)]
    with ThreadPoolExecutor(threads - 1) as pool:
        for n in range(-1, number):
            t = count + n + 1
            if n >= 0 and not begin(t):
                return n
            of_others = pool.map(partial(sweep, n, t), ends[1:-1], ends[2:])
            own = sweep(n, t, 0, ends[1])  # while they are at it
            if not (all(of_others) and own):
                return n
    return number
