"""Options of glibc's malloc that keep freed memory for the next training step or translation.

A training step allocates and frees hundreds of megabytes, and a long translation some megabytes. By default, glibc
returns freed memory to the system, which has to clear every page before the process can use it again: thousands of
pages per training step of a `tiny` model. The options of other C libraries are not changed.
"""

import ctypes
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# On each line, the number of a mallopt option from glibc's malloc.h, followed by the values that it is set to.
_TRIM_THRESHOLD, _NEVER_TRIM, _TRIM_BEYOND = -1, -1, 256 << 20

_MMAP_THRESHOLD, _MMAP_BEYOND = -3, 32 << 20

_MMAP_MAX, _NO_MMAP = -4, 0

_ARENA_MAX, _ONE_ARENA = -8, 1

_retaining_all = False  # True inside `retain_freed_memory`; global, because malloc options hold for the whole process


@contextmanager
def retain_freed_memory() -> Iterator[None]:
    """Keep all freed memory in the process within the context; at its end, return free memory to the system.

    All threads use one malloc arena, because glibc returns the memory of any additional arena as soon as it is empty.
    Enter the context before the first thread starts: if additional arenas already exist, later threads use them too.
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
    """From now on, keep up to 256 MB of freed memory in the process instead of returning it to the system."""
    if _is_glibc() and not _retaining_all:
        _set_options((_TRIM_THRESHOLD, _TRIM_BEYOND), (_MMAP_THRESHOLD, _MMAP_BEYOND))


def _is_glibc() -> bool:
    return sys.platform == "linux" and platform.libc_ver()[0] == "glibc"


def _set_options(*options: tuple[int, int]) -> None:
    libc = ctypes.CDLL(None)
    for option, value in options:
        libc.mallopt(option, value)
