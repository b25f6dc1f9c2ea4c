"""Memory that one step gives back is kept for the next.

A step takes hundreds of megabytes and gives them back. glibc hands large blocks to the system, which clears every page
before it gives it out again: thousands of pages in a step of `tiny`. Here glibc is told to keep them, and to serve all
threads from one heap, because that of a thread is emptied whenever nothing is left in it.
"""

import ctypes
import platform
from collections.abc import Iterator
from contextlib import contextmanager

# Their numbers in glibc's malloc.h, and what they are set to.
_TRIM_THRESHOLD, _NEVER = -1, -1
_MMAP_MAX, _NONE = -4, 0
_ARENA_MAX, _ONE = -8, 1


@contextmanager
def kept_memory() -> Iterator[None]:
    """Keep memory, and give back at the end what is free then. Only for glibc; other systems are left as they are.

    Before the first thread: one that has had a heap of its own may hand it on to the next.
    """
    if platform.libc_ver()[0] != "glibc":
        yield
        return
    libc = ctypes.CDLL(None)
    for option, value in ((_TRIM_THRESHOLD, _NEVER), (_MMAP_MAX, _NONE), (_ARENA_MAX, _ONE)):
        libc.mallopt(option, value)
    try:
        yield
    finally:
        libc.malloc_trim(0)
