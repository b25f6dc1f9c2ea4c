"""The number of threads that torch uses in training."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from regard.machine.cpu import requested_threads, usable_cpus


def default_threads() -> int:
    """Return torch's number of threads, or the number of usable CPUs if it is smaller and OMP_NUM_THREADS is not set.

    Torch knows OMP_NUM_THREADS, but not the CPU quota of a container.
    """
    threads = torch.get_num_threads()
    return threads if requested_threads(os.environ.get("OMP_NUM_THREADS", "")) else min(threads, usable_cpus())


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Use this number of torch threads in a `with` block; other numbers would change the rounding of sums."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
