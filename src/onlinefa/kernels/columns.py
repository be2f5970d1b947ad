"""Division of columns into tiles that fit into a cache, chunks of tiles, and shares of threads.

A kernel sweeps over all columns once per row, tile by tile, so that a tile stays in a cache for all
operations on it. The arrays then move through memory once per row, whatever D, and most of the time
is spent on arithmetic.

Sums over columns are computed chunk by chunk, and the sums of chunks are added in a fixed order,
whichever thread has computed them: results are the same to the bit with any number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlinefa.kernels.barrier import abort, new_barrier

# Numbers of columns. With K = 10, two arrays of K x TILE numbers take 160 to 320 KiB and fit into
# the second-level cache. Tiles for the first-level cache would have so few columns that the
# overhead of loops would outweigh its higher speed.
TILE = 2048
CHUNK = 2 * TILE

# With fewer columns per thread, starting a thread for a single row takes longer than it saves.
_COLUMNS_PER_THREAD = 8 * CHUNK


def count_chunks(D: int) -> int:
    """Compute the number of chunks of D columns."""
    return -(-D // CHUNK)


def count_threads(D: int) -> int:
    """Compute the number of threads for D columns.

    It is the value of OMP_NUM_THREADS or, without it, the number of cores of this process, limited
    so that each thread has enough columns.
    """
    requested = os.environ.get("OMP_NUM_THREADS", "")
    most = int(requested) if requested.isdecimal() else _count_cores()
    return max(1, min(most, D // _COLUMNS_PER_THREAD))


def _count_cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # the cores of this process; on Linux only
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Share(NamedTuple):
    """A thread's part of every sweep.

    Attributes
    ----------
    thread : int
        Index of the thread.
    first, last : int
        Its first chunk, and the one after its last.
    barrier : ndarray of int64
        Barrier of all threads.
    """

    thread: int
    first: int
    last: int
    barrier: NDArray[np.int64]


def run_in_threads(D: int, absorb: Callable[[Share], int]) -> int:
    """Absorb rows of D columns in several threads.

    Parameters
    ----------
    D : int
        Number of columns.
    absorb : callable
        Compiled function that releases the global interpreter lock. It is called with the share of
        each thread, and returns the number of rows that it has absorbed.

    Returns
    -------
    absorbed : int
        Number of rows absorbed.
    """
    threads, chunks = count_threads(D), count_chunks(D)
    ends = [chunks * thread // threads for thread in range(threads + 1)]
    barrier = new_barrier(threads)
    shares = [Share(n, ends[n], ends[n + 1], barrier) for n in range(threads)]
    if threads == 1:
        return absorb(shares[0])

    def work(share: Share) -> int:
        try:
            return absorb(share)
        except BaseException:
            abort(barrier)
            raise

    with ThreadPoolExecutor(threads - 1) as pool:
        try:
            others = [pool.submit(work, share) for share in shares[1:]]
            absorbed = work(shares[0])
        finally:  # a thread may not have started: the others must not wait for it
            abort(barrier)
            pool.shutdown(wait=False, cancel_futures=True)
    for other in others:
        other.result()  # raises the exception of the thread, if there is one
    return absorbed
