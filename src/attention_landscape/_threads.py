"""Two threads for large sums: numpy's exp, products and gathers let go of the interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

#: Largest ``m n k`` of a product that OpenBLAS does on the calling thread. Its own threads stall
#: for milliseconds a call where other processes use the cores, so tiles stay below.
PRODUCT = 1 << 18


def count() -> int:
    """Return how many threads to use: two, or one on one core or with ``OMP_NUM_THREADS=1``.

    Returns
    -------
    int

    Examples
    --------
    >>> count() in (1, 2)
    True
    """
    if os.environ.get("OMP_NUM_THREADS") == "1":
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(2, cores or 1)


def share(work: Callable[[Sequence[int]], T], starts: Sequence[int], *, worth: bool) -> list[T]:
    """Call ``work`` on every second start in two threads, or on all of them here.

    Parameters
    ----------
    work : callable
        Takes starts of blocks.
    starts : sequence of int
        All of them.
    worth : bool
        Whether there is enough work for threads.

    Returns
    -------
    list
        What the one or two calls returned.

    Examples
    --------
    >>> sum(share(sum, range(10), worth=True))
    45
    """
    threads = count() if worth else 1
    if threads == 1:
        return [work(starts)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, [starts[i::threads] for i in range(threads)]))
