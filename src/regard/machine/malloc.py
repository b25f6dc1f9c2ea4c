"""Memory that one step gives back is kept for the next.

A step of training takes hundreds of megabytes and gives them back, a piece of a long translation takes some. glibc
hands them to the system, which clears every page before it gives it out again: thousands of pages in a step of `tiny`.
Here glibc is told to keep them. Other systems are left as they are.
"""

import ctypes
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# Their numbers in glibc's malloc.h, and what they are set to.
_TRIM_THRESHOLD, _NEVER, _SOME = -1, -1, 256 << 20

_MMAP_THRESHOLD, _MOST = -3, 32 << 20

_MMAP_MAX, _NONE = -4, 0

_ARENA_MAX, _ONE = -8, 1

_keeping_all = False  # what glibc is told holds for the whole process, and so does this


@contextmanager
def retain_freed_memory() -> Iterator[None]:
    """Keep all memory, and give back at the end what is free then.

    All threads are served from one heap, because that of a thread is emptied whenever nothing is left in it. Before the
    first thread: one that has had a heap of its own may hand it on to the next.
    """
    global _keeping_all
    if not _is_glibc():
        yield
        return
    _set_options((_TRIM_THRESHOLD, _NEVER), (_MMAP_MAX, _NONE), (_ARENA_MAX, _ONE))
    _keeping_all = True
    try:
        yield
    finally:
        _keeping_all = False
        ctypes.CDLL(None).malloc_trim(0)


def limit_trimming() -> None:
    """Keep what is free at the end of a heap from here on, up to a quarter of a gigabyte."""
    if _is_glibc() and not _keeping_all:
        _set_options((_TRIM_THRESHOLD, _SOME), (_MMAP_THRESHOLD, _MOST))


def _is_glibc() -> bool:
    return sys.platform == "linux" and platform.libc_ver()[0] == "glibc"


def _set_options(*options: tuple[int, int]) -> None:
    libc = ctypes.CDLL(None)
    for option, value in options:
        libc.mallopt(option, value)
