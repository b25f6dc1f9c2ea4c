"""Data parallelism in one process: replicas of the model compute gradients of different batches in parallel threads.

Torch divides every single operation among its threads, which then wait for each other. In a narrow model, operations
are so short that waiting takes much of the time, whereas replicas wait for each other only once per step. Replicas
share their parameters, but each has its own gradients. The gradients are added in a fixed order, so a run with the same
number of threads always gives the same result.

The same threads also update the parameters, each a share of them, because torch's own threads actively wait for each
other: if another program interrupts one of them, all the others wait for it hundreds of times in a single update.
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

# A model of this width or more gets a single replica: torch's own threads are as fast, and more replicas would need
# memory for their gradients.
SINGLE_REPLICA_WIDTH = 512

MIN_REPLICA_TOKENS = 512  # minimum tokens per replica; with fewer tokens, Python's overhead becomes noticeable


def replica_count(width: int, tokens: int, device: str) -> int:
    """Return the number of replicas for a model width, a micro-batch size in tokens, and a device.

    It is 1 on all devices except a CPU, and at most torch's number of threads.
    """
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


def optimizer_shares(optimizer: torch.optim.Optimizer, count: int) -> list[torch.optim.Optimizer]:
    """Return `count` optimizers that have the state of `optimizer`, and each update a share of its parameters.

    All shares have about the same number of parameters of each shape.
    """
    shares = []
    for number in range(count):
        # As `copy.copy`, but without Adam's own `__setstate__`, which fails for matrices with the state of Muon.
        share = object.__new__(type(optimizer))
        torch.optim.Optimizer.__setstate__(share, optimizer.__getstate__())
        share.param_groups = [
            {**group, "params": sorted(group["params"], key=lambda parameter: parameter.shape)[number::count]}
            for group in optimizer.param_groups
        ]
        shares.append(share)
    return shares


def run_replicas(work: Callable[[int], Result], count: int) -> list[Result]:
    """Call `work` with each number from 0 to `count` - 1, in parallel threads, and return the results.

    Torch's threads are divided equally among the calls.
    """
    if count == 1:
        return [work(0)]
    threads = torch.get_num_threads()
    pool = _pool(count, max(1, threads // count), os.getpid())
    torch.set_num_threads(threads)  # restore the default, which the threads of a new pool have changed
    futures = [pool.submit(work, number) for number in range(count)]
    wait(futures)  # wait for all calls to end, even if one has failed
    # Remove each future from the list: a reference to one that failed would keep its exception and tensors in memory.
    return [futures.pop(0).result() for _ in range(count)]


def _set_thread_count(threads: int) -> None:
    # In a new thread, the first call of `get_num_threads` resets the thread's count to the default. It must therefore
    # come before `set_num_threads`.
    torch.get_num_threads()
    torch.set_num_threads(threads)


@cache
def _pool(count: int, threads_each: int, process: int) -> ThreadPoolExecutor:
    """Return a pool whose threads have all started.

    The pool is cached: for a small model, setting up torch in new threads would take a large part of each step. It
    belongs to the process with the id `process`, because a forked process does not inherit its threads.
    """
    pool = ThreadPoolExecutor(count, initializer=_set_thread_count, initargs=(threads_each,))
    barrier = Barrier(count)
    try:
        # No task returns before `count` tasks wait at the barrier, so all threads have started.
        wait([pool.submit(barrier.wait) for _ in range(count)])
    except BaseException:
        barrier.abort()  # otherwise the threads that have already started would wait forever
        raise
    return pool
