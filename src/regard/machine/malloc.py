"""Options of glibc's malloc that keep freed memory for the next training step or translation.

A training step allocates and frees hundreds of megabytes, a long translation some. By default glibc returns them to the
system, which has to clear every page before it hands it out again: thousands of pages per step of `tiny`. Other C
libraries are left as they are.
"""

import ctypes
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# Option numbers from glibc's malloc.h, and the values they are set to.
_TRIM_THRESHOLD, _NEVER_TRIM, _TRIM_BEYOND = -1, -1, 256 << 20

_MMAP_THRESHOLD, _MMAP_BEYOND = -3, 32 << 20

_MMAP_MAX, _NO_MMAP = -4, 0

_ARENA_MAX, _ONE_ARENA = -8, 1

_retaining_all = False  # malloc options hold for the whole process, so this does too


@contextmanager
def retain_freed_memory() -> Iterator[None]:
    """Keep all freed memory in the process, and return what is free at the end of the block.

    All threads share one arena, because glibc trims the arena of a thread whenever it is empty. Enter the block before
    the first thread starts: arenas outlive their threads and are reused by later ones.
    """
    global _retaining_all
    if not _is_glibc():
        yield
        return
    _set_options((_TRIM_THRESHOLD, _NEVER_TRIM), (_MMAP_MAX, _NO_MMAP), (_ARENA_MAX, _ONE_ARENA))
    _retaining_all = True
    try:
        yield
    finally:
        _retaining_all = False
        ctypes.CDLL(None).malloc_trim(0)


def limit_trimming() -> None:
    """Keep up to a quarter of a gigabyte of free memory at the end of the heap from now on."""
    if _is_glibc() and not _retaining_all:
        _set_options((_TRIM_THRESHOLD, _TRIM_BEYOND), (_MMAP_THRESHOLD, _MMAP_BEYOND))


def _is_glibc() -> bool:
    return sys.platform == "linux" and platform.libc_ver()[0] == "glibc"


def _set_options(*options: tuple[int, int]) -> None:
    libc = ctypes.CDLL(None)
    for option, value in options:
        libc.mallopt(option, value)
