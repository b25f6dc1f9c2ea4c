"""Data parallelism in one process: each replica runs forward and backward on its own share of a batch, in a thread.

Torch divides every single operation among its threads, which then wait for each other; in a narrow model operations
are so short that waiting takes much of the time. Replicas wait for each other only once per step. They share their
parameters and have separate gradients, which are added in a fixed order: with the same number of threads, a run gives
the same result every time.
"""

import copy
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from threading import Barrier
from typing import TypeVar

import torch

from regard.models.interface import SequenceModel

Result = TypeVar("Result")

SINGLE_REPLICA_WIDTH = 512  # from this width on, torch's own threads are as fast and need no additional gradients

MIN_REPLICA_TOKENS = 512  # with fewer tokens per replica, Python's overhead becomes noticeable


def replica_count(width: int, tokens: int, device: str) -> int:
    """Return the number of replicas for a micro-batch of this many tokens, given torch's current thread count."""
    if device != "cpu" or width >= SINGLE_REPLICA_WIDTH:
        return 1
    return max(1, min(torch.get_num_threads(), tokens // MIN_REPLICA_TOKENS))


def make_replicas(model: SequenceModel, count: int) -> list[SequenceModel]:
    """Return the model itself and `count` - 1 copies that share its parameters in memory."""
    replicas = [model]
    for _ in range(1, count):
        replica = copy.deepcopy(model)
        for shared, own in zip(model.parameters(), replica.parameters(), strict=True):
            own.data = shared.data
        replicas.append(replica)
    return replicas


def run_replicas(work: Callable[[int], Result], count: int) -> list[Result]:
    """Call `work` with each number from 0 to `count` - 1, each in its own thread with its share of torch's threads."""
    if count == 1:
        return [work(0)]
    threads = torch.get_num_threads()
    pool = _pool(count, max(1, threads // count))
    torch.set_num_threads(threads)  # the workers' setting also became the default of every new thread
    futures = [pool.submit(work, number) for number in range(count)]
    wait(futures)  # wait for all, even if one has failed
    # Drop each future as it is read: an exception that is still referenced keeps alive all tensors of its replica.
    return [futures.pop(0).result() for _ in range(count)]


def _set_thread_count(threads: int) -> None:
    # A new thread takes over the process-wide setting when it first reads it, so read before setting.
    torch.get_num_threads()
    torch.set_num_threads(threads)


@cache
def _pool(count: int, threads_each: int) -> ThreadPoolExecutor:
    """Return a pool of running threads, kept because torch's setup of a new thread takes much of a `tiny` step."""
    pool = ThreadPoolExecutor(count, initializer=_set_thread_count, initargs=(threads_each,))
    barrier = Barrier(count)
    try:
        wait([pool.submit(barrier.wait) for _ in range(count)])  # after this, all threads have started
    except BaseException:
        barrier.abort()  # otherwise the threads that have started would wait forever
        raise
    return pool


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a forked process does not inherit the threads
