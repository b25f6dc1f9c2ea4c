"""Many hands: each takes its own part of a batch, from the first layer to the last gradient, through its own copy.

Torch divides every single operation among its threads, which then wait for each other; in a narrow model operations are
so short that much of the time is waiting. Hands wait for each other once a step. Copies share their weights
and have gradients of their own, added in a fixed order: with as many threads, a run is the same every time.
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

WIDE = 512  # from this width on, torch's own way is as fast, and takes no further gradients

LEAST_TOKENS = 512  # for a hand; with fewer, Python's own time begins to count


def replica_count(width: int, tokens: int, device: str) -> int:
    """How many hands take a micro-batch of so many tokens, with the threads that torch has now."""
    if device != "cpu" or width >= WIDE:
        return 1
    return max(1, min(torch.get_num_threads(), tokens // LEAST_TOKENS))


def make_replicas(model: SequenceModel, count: int) -> list[SequenceModel]:
    """The model itself, and others with the same weights, in the same memory."""
    models = [model]
    for _ in range(1, count):
        other = copy.deepcopy(model)
        for shared, own in zip(model.parameters(), other.parameters(), strict=True):
            own.data = shared.data
        models.append(other)
    return models


def run_replicas(work: Callable[[int], Result], count: int) -> list[Result]:
    """What `work` returns for 0 to `count` - 1, each in a thread, which have torch's threads divided among them."""
    if count == 1:
        return [work(0)]
    threads = torch.get_num_threads()
    pool = _pool(count, max(1, threads // count))
    torch.set_num_threads(threads)  # a thread's own number is also that of every thread to come
    under_way = [pool.submit(work, hand) for hand in range(count)]
    wait(under_way)  # for all, also when one has failed
    # Let go of each: a failure that we still held would hold all that its hand had made.
    return [under_way.pop(0).result() for _ in range(count)]


def _use(threads: int) -> None:
    """In a new thread, which until it has looked takes whatever number anyone has set last."""
    torch.get_num_threads()
    torch.set_num_threads(threads)


@cache
def _pool(count: int, each: int) -> ThreadPoolExecutor:
    """Threads that stay: what torch prepares in a new one is a good part of a step of `tiny`."""
    pool = ThreadPoolExecutor(count, initializer=_use, initargs=(each,))
    together = Barrier(count)
    try:
        wait([pool.submit(together.wait) for _ in range(count)])  # from here on there are all of them
    except BaseException:
        together.abort()  # or those that are there would wait for ever
        raise
    return pool


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a process that is forked off has none of our threads
