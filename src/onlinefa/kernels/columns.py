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
from typing import NamedTuple

from onlinefa.gaussian import Array
from onlinefa.kernels.meeting import let_nobody_wait, place_to_meet

# Columns. With K = 10, two arrays of K x TILE numbers are 160 to 320 KiB, and fit into the second
# cache. The first would be quicker, but loops over its few columns spend more on being started.
TILE = 2048
CHUNK = 2 * TILE

# With fewer for each, to start a thread for a single row takes longer than the thread saves.
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

    def work(share: Share) -> int:
        try:
            return absorb(share)
        except BaseException:
            let_nobody_wait(place)
            raise

    with ThreadPoolExecutor(threads - 1) as pool:
        try:
            others = [pool.submit(work, share) for share in shares[1:]]
            absorbed = work(shares[0])
        finally:  # a thread may not have started: others shall not wait for it
            let_nobody_wait(place)
            pool.shutdown(wait=False, cancel_futures=True)
    for other in others:
        other.result()  # raises what it has raised
    return absorbed
