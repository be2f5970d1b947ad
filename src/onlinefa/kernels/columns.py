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
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import NamedTuple

from onlinefa.gaussian import Array
from onlinefa.kernels.meeting import let_nobody_wait, place_to_meet

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
    useful = D // _COLUMNS_OF_A_THREAD
    if useful < 2:
        return 1
    asked_for = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(useful, int(asked_for) if asked_for.isdecimal() else _cores()))


def _cores() -> int:
    """What affinity and the quota of a container allow."""
    from joblib import cpu_count

    return cpu_count()


class Share(NamedTuple):
    """A thread's part of every sweep: chunks from first on, and before last."""

    thread: int
    first: int
    last: int
    place: Array  # where they meet


def in_threads(D: int, absorb: Callable[[Share], int]) -> int:
    """Absorb rows of D columns in as many threads as there is work for; return how many rows.

    `absorb` is compiled, releases Python's lock, and is called for each thread's share.
    """
    threads, chunks = number_of_threads(D), number_of_chunks(D)
    ends = [chunks * thread // threads for thread in range(threads + 1)]
    place = place_to_meet(threads)
    shares = [Share(n, ends[n], ends[n + 1], place) for n in range(threads)]
    if threads == 1:
        return absorb(shares[0])
    with ThreadPoolExecutor(threads) as pool:
        try:
            tasks = [pool.submit(absorb, share) for share in shares]
            wait(tasks, return_when=FIRST_EXCEPTION)
        finally:  # whoever still waits, waits for one that has failed or was never started
            let_nobody_wait(place)
            pool.shutdown(wait=False, cancel_futures=True)
    return max(task.result() for task in tasks)
